// text/code_points.h: UTF-8 decoding and what the split patterns and NFC need to know of a code point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace d3::text {

constexpr uint32_t kCodePointCount = 0x110000;

/// What is true of a code point; the first five are Unicode's major categories.
enum CodePointFlag : uint8_t {
  kLetter = 1,
  kMark = 2,
  kNumber = 4,
  kPunctuation = 8,
  kSymbol = 16,
  kSpace = 32,    ///< `\s`: the 25 code points of White_Space, line ends among them
  kLineEnd = 64,  ///< \r and \n
  kNfc = 128,     ///< NFC may change this code point, move it or join it with the one before it
};

/// A code point and the number of bytes it was written in.
struct Decoded {
  uint32_t code_point;
  uint32_t bytes;
};

/// The code point at `text[at]`; the text must be valid UTF-8 and `at` the start of a code point.
inline Decoded decode_utf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

/// The start of the code point before `at`; at > 0.
inline size_t previous_code_point(std::string_view text, size_t at) {
  do --at;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

/// Appends one code point, which must be a Unicode scalar value.
void append_utf8(uint32_t code_point, std::string& out);

/// The flags of every code point in one flat table of 1.1 MB, of which a text touches a few pages.
class CodePoints {
 public:
  CodePoints();

  /// A combination of CodePointFlag; code_point < kCodePointCount.
  uint8_t flags(uint32_t code_point) const { return flags_[code_point]; }

 private:
  std::vector<uint8_t> flags_;
};

}  // namespace d3::text
