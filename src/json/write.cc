#include "json/write.h"

#include <array>
#include <charconv>
#include <cmath>

#include <simdjson.h>

#include "base/error.h"

namespace d3::json {
namespace {

constexpr bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void append_escape(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

/// Python's float_repr_style "short": plain notation while the decimal point lies within -4 < place <= 16.
void append_python_layout(std::string& out, std::string_view digits, int place) {
  const auto count = static_cast<int>(digits.size());
  if (place <= -4 || place > 16) {
    out += digits.front();
    if (count > 1) (out += '.') += digits.substr(1);
    const int exponent = place - 1;
    out += exponent < 0 ? "e-" : "e+";
    if (std::abs(exponent) < 10) out += '0';
    append_integer(out, std::abs(exponent));
  } else if (place <= 0) {
    out += "0.";
    out.append(static_cast<size_t>(-place), '0');
    out += digits;
  } else if (place >= count) {
    out += digits;
    out.append(static_cast<size_t>(place - count), '0');
    out += ".0";
  } else {
    const auto whole = static_cast<size_t>(place);
    ((out += digits.substr(0, whole)) += '.') += digits.substr(whole);
  }
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  size_t plain = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!needs_escape(text[at])) continue;
    out.append(text, plain, at - plain);
    append_escape(out, text[at]);
    plain = at + 1;
  }
  out.append(text, plain);
  out += '"';
}

void append_untrusted_string(std::string& out, std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) {
    append_string(out, text);
    return;
  }
  std::string ascii;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80)
      ascii += c;
    else
      ascii += "\uFFFD";
  }
  append_string(out, ascii);
}

void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) throw Error(ErrorCode::kInternal, "a value to write is not finite");
  if (std::signbit(value)) out += '-';
  // Shortest digits are at most 17, with a point and an exponent of three digits 24 characters.
  std::array<char, 32> text{};
  const char* const end =
      std::to_chars(text.data(), text.data() + text.size(), std::fabs(value), std::chars_format::scientific)
          .ptr;
  const std::string_view written(text.data(), static_cast<size_t>(end - text.data()));
  const size_t exponent_at = written.find('e');
  std::array<char, 20> digits{};
  size_t count = 0;
  for (const char c : written.substr(0, exponent_at))
    if (c != '.') digits[count++] = c;
  int exponent = 0;
  const char* first = written.data() + exponent_at + 1;
  if (*first == '+') ++first;
  std::from_chars(first, end, exponent);
  append_python_layout(out, std::string_view(digits.data(), count), exponent + 1);
}

void append_integer(std::string& out, int64_t value) {
  std::array<char, 24> text{};
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr);
}

}  // namespace d3::json
