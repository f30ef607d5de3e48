// json/write.h: the leaves of the JSON this program writes. Containers are written by their writers, comma by
// comma: an answer's shape is then readable in one place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace d3::json {

/// `text` in quotes; escapes only what JSON demands: `"`, `\` and controls below 0x20 (\n \r \t \b \f, else
/// \u00xx), as Python's json does with ensure_ascii=False. `text` must be valid UTF-8.
void append_string(std::string& out, std::string_view text);

/// The same for text of unknown origin (a request's path): where it is not valid UTF-8, U+FFFD stands for
/// every byte outside ASCII.
void append_untrusted_string(std::string& out, std::string_view text);

/// The shortest text that reads back as the same double, laid out as Python's repr does: "1.0", "0.1",
/// "1e-05", "1e+16", "-0.0". `value` must be finite: Error(kInternal) otherwise, as JSON has no such number.
void append_double(std::string& out, double value);

void append_integer(std::string& out, int64_t value);

}  // namespace d3::json
