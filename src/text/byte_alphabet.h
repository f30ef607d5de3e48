// text/byte_alphabet.h: the alphabet in which tokenizer.json spells bytes as printable characters.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace d3::text {

/// GPT-2's byte-level alphabet: printable Latin-1 stands for its own byte, the other bytes are, in order, the
/// characters from U+0100 on (byte 0x20 is `Ġ`, U+0120).
class ByteAlphabet {
 public:
  ByteAlphabet();

  /// Writes the bytes that a spelling stands for, at most spelling.size() of them, and returns how many; 0 if
  /// a character is not of the alphabet.
  size_t decode(std::string_view spelling, char* out) const;

 private:
  std::array<int16_t, 256 + 68> bytes_;  // by code point; -1: not of the alphabet
};

}  // namespace d3::text
