#include "text/byte_alphabet.h"

#include "text/code_points.h"

namespace d3::text {

ByteAlphabet::ByteAlphabet() {
  bytes_.fill(-1);
  size_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    bytes_[printable ? static_cast<size_t>(byte) : next++] = static_cast<int16_t>(byte);
  }
}

size_t ByteAlphabet::decode(std::string_view spelling, char* out) const {
  char* to = out;
  for (size_t at = 0; at < spelling.size();) {
    const auto [code_point, length] = decode_utf8(spelling, at);
    if (code_point >= bytes_.size() || bytes_[code_point] < 0) return 0;
    *to++ = static_cast<char>(bytes_[code_point]);
    at += length;
  }
  return static_cast<size_t>(to - out);
}

}  // namespace d3::text
