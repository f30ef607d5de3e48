#include "cli/pull_display.h"

#include <utility>

#include <fmt/format.h>

#include "cli/units.h"

namespace d3::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string amount(uint64_t bytes) { return bytes_text(static_cast<int64_t>(bytes)); }

}  // namespace

PullDisplay::PullDisplay(const Output& output, std::string name, std::string cache)
    : name_(std::move(name)), cache_(std::move(cache)), start_(Clock::now()), bar_(output, name_) {}

hub::PullEvents PullDisplay::events() {
  return {.progress = [this](const hub::PullProgress& progress) { show(progress); },
          .notice = [this](const std::string& line) { bar_.notice(line); },
          .pause = {}};
}

void PullDisplay::finish(const hub::Pulled& pulled) {
  if (!begun_) return;
  const auto taken = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_);
  bar_.notice(fmt::format("pulled {}: {} in {}", name_, amount(pulled.fetched), time_text(taken)));
}

void PullDisplay::show(const hub::PullProgress& progress) {
  if (progress.bytes == 0) return;
  const auto bytes = static_cast<double>(progress.bytes);
  if (!std::exchange(begun_, true)) {
    bar_.notice(fmt::format("pulling {} into {}", name_, cache_));
    bar_.begin_at(static_cast<double>(progress.done_before) / bytes);
  }
  std::string amounts = fmt::format("{} of {}", amount(progress.done), amount(progress.bytes));
  if (progress.checking > 0) {
    amounts += fmt::format(", checking: {} of {}", amount(progress.checked), amount(progress.checking));
  } else {
    rate_.add(progress.done);
    const double rate = rate_.per_second();
    if (rate > 0) amounts += fmt::format(", {}/s", amount(static_cast<uint64_t>(rate)));
    amounts += time_left_text(bytes - static_cast<double>(progress.done), rate);
  }
  bar_.show(static_cast<double>(progress.done) / bytes, amounts);
}

}  // namespace d3::cli
