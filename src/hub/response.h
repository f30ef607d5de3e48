// hub/response.h: what an answer's headers say.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace d3::hub {

/// Headers by their names in lower case; the last of a name counts.
using Headers = std::map<std::string, std::string, std::less<>>;

/// Takes in one header line as it arrives. A status line begins a new answer: what came before is dropped (a
/// 1xx answer). Lines that are no header are ignored.
void add_header_line(Headers& headers, std::string_view line);

/// A header's value, empty when there is none.
std::string_view header(const Headers& headers, std::string_view name);

/// A header that is a number of bytes; none when it is missing or no such number.
std::optional<uint64_t> byte_count(const Headers& headers, std::string_view name);

/// "bytes FIRST-LAST/TOTAL" (RFC 9110, section 14.4).
struct ContentRange {
  uint64_t first = 0;
  uint64_t last = 0;
  uint64_t total = 0;
};
std::optional<ContentRange> parse_content_range(std::string_view text);

/// Retry-After (RFC 9110, section 10.2.3): seconds, or a date, from which `now` is taken. Not negative.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view text,
                                                      std::chrono::system_clock::time_point now);

}  // namespace d3::hub
