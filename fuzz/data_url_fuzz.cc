// A data URL is decoded to the bytes whose base64 it is, or refused in one line.
#include <algorithm>
#include <string>

#include "media/data_url.h"
#include "media_checks.h"

namespace {

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    unsigned bits = 0;
    for (size_t j = 0; j < 3; ++j) bits = bits << 8U | (j < count ? static_cast<unsigned>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kAlphabet[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view url(reinterpret_cast<const char*>(data), size);
  constexpr size_t kMaxBytes = 64;
  try {
    const auto bytes = d3::media::decode_data_url(url, "image", kMaxBytes);
    if (bytes.empty() || bytes.size() > kMaxBytes || !url.ends_with("," + base64(bytes))) std::abort();
  } catch (const d3::Error& error) {
    const std::string_view what = error.what();
    if (error.code() != d3::ErrorCode::kInvalidArgument || !error.field().empty() || what.size() > 300 ||
        what.find('\n') != std::string_view::npos)
      std::abort();
  }
  return 0;
}
