#include "checkpoint/messages.h"

#include <fmt/format.h>

#include "json/render.h"
#include "json/write.h"

namespace d3::checkpoint {
namespace {

constexpr size_t kShownValue = 60;
constexpr size_t kShownName = 200;

/// At most about `limit` bytes of valid UTF-8, not cut inside a character.
std::string cut(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

}  // namespace

Error bad_file(const std::filesystem::path& path, const std::string& message) {
  return {ErrorCode::kBadCheckpoint, fmt::format("{}: {}", path.string(), message), path.string()};
}

Error bad_key(ErrorCode code, const std::filesystem::path& path, const std::string& key,
              const std::string& message) {
  return {code, fmt::format("{}: {} {}", path.string(), key, message), key};
}

Error bad_tensor(const std::filesystem::path& path, std::string_view name, const std::string& message) {
  return {ErrorCode::kBadCheckpoint, fmt::format("{}: tensor {} {}", path.string(), in_quotes(name), message),
          std::string(name)};
}

std::string shown(const json::Value& value) { return cut(json::render(value), kShownValue); }

std::string in_quotes(std::string_view name) {
  std::string text;
  json::append_string(text, name);
  return cut(std::move(text), kShownName);
}

}  // namespace d3::checkpoint
