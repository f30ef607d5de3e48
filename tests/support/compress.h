// tests/support/compress.h: what clients do to large bodies.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <zstd.h>

namespace d3::test {

inline std::string zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  if (ZSTD_isError(size) != 0U) throw std::runtime_error("zstd");
  out.resize(size);
  return out;
}

}  // namespace d3::test
