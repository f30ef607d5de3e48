#include "cli/units.h"

#include <fmt/format.h>

namespace d3::cli {
namespace {

std::string with_unit(double value, const char* const (&units)[4]) {
  size_t unit = 0;
  for (; value >= 1000 && unit < 3; ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 2, units[unit]);
}

}  // namespace

std::string count_text(int64_t value) {
  static constexpr const char* kUnits[4] = {"", "thousand", "million", "billion"};
  return with_unit(static_cast<double>(value), kUnits);
}

std::string bytes_text(int64_t value) {
  static constexpr const char* kUnits[4] = {"bytes", "kB", "MB", "GB"};
  return with_unit(static_cast<double>(value), kUnits);
}

std::string time_text(std::chrono::seconds time) {
  const int64_t seconds = time.count();
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace d3::cli
