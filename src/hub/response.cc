#include "hub/response.h"

#include <algorithm>
#include <charconv>

#include <curl/curl.h>

#include "base/ascii.h"

namespace d3::hub {
namespace {

std::optional<uint64_t> parse_count(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

void add_header_line(Headers& headers, std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) headers.clear();
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), ascii_lower);
  headers[name] = std::string(trimmed(line.substr(colon + 1)));
}

std::string_view header(const Headers& headers, std::string_view name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<uint64_t> byte_count(const Headers& headers, std::string_view name) {
  return parse_count(header(headers, name));
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (text.size() < kUnit.size() || !equals_ignoring_case(text.substr(0, kUnit.size()), kUnit))
    return std::nullopt;
  text = trimmed(text.substr(kUnit.size()));
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) return std::nullopt;
  const auto first = parse_count(text.substr(0, dash));
  const auto last = parse_count(text.substr(dash + 1, slash - dash - 1));
  const auto total = parse_count(text.substr(slash + 1));
  if (!first || !last || !total || *first > *last || *last >= *total) return std::nullopt;
  return ContentRange{*first, *last, *total};
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view text,
                                                      std::chrono::system_clock::time_point now) {
  constexpr uint64_t kMostSeconds = 1'000'000'000;
  if (const auto seconds = parse_count(text))
    return std::chrono::seconds(static_cast<int64_t>(std::min(*seconds, kMostSeconds)));
  if (text.empty() || text.size() > 64) return std::nullopt;
  const time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  const int64_t seconds = int64_t{date} - std::chrono::system_clock::to_time_t(now);
  return std::chrono::seconds(std::max(seconds, int64_t{0}));
}

}  // namespace d3::hub
