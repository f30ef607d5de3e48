#include "media/data_url.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <string>

#include "base/ascii.h"
#include "media/refusal.h"

namespace d3::media {
namespace {

constexpr std::string_view kScheme = "data:";
constexpr uint8_t kNotBase64 = 64;

constexpr std::array<uint8_t, 256> base64_values() {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<uint8_t, 256> values{};
  values.fill(kNotBase64);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return values;
}

constexpr std::array<uint8_t, 256> kValues = base64_values();

/// Letters, digits and the punctuation that RFC 6838 allows in names of types and parameters.
bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$&-^_.+").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// `<type>/<subtype>[;name=value…]`.
bool is_media_type(std::string_view text, std::string_view type) {
  size_t end = std::min(text.find(';'), text.size());
  const std::string_view essence = text.substr(0, end);
  const size_t slash = essence.find('/');
  if (slash == std::string_view::npos || !equals_ignoring_case(essence.substr(0, slash), type) ||
      !is_name(essence.substr(slash + 1)))
    return false;
  while (end < text.size()) {
    text.remove_prefix(end + 1);
    end = std::min(text.find(';'), text.size());
    const std::string_view parameter = text.substr(0, end);
    const size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || !is_name(parameter.substr(0, equals)) ||
        !is_name(parameter.substr(equals + 1)))
      return false;
  }
  return true;
}

/// Values of `count` digits, most significant first.
uint32_t digits(std::string_view text, size_t count) {
  uint32_t bits = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint8_t value = kValues[static_cast<unsigned char>(text[i])];
    if (value == kNotBase64) refuse("the data URL is not valid base64");
    bits = bits << 6U | value;
  }
  return bits;
}

std::vector<std::byte> decode_base64(std::string_view text, size_t max_bytes) {
  if (text.empty()) refuse("the data URL is empty");
  if (text.size() % 4 != 0) refuse("the data URL is not valid base64: its length is no multiple of 4");
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const size_t size = text.size() / 4 * 3 - padding;
  check_byte_count("data URL", size, max_bytes);
  std::vector<std::byte> decoded(size);
  std::byte* out = decoded.data();
  const size_t whole = size / 3 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    const uint32_t bits = digits(text.substr(i), 4);
    *out++ = static_cast<std::byte>(bits >> 16U);
    *out++ = static_cast<std::byte>(bits >> 8U);
    *out++ = static_cast<std::byte>(bits);
  }
  if (padding != 0) {
    const uint32_t bits = digits(text.substr(whole), 4 - padding) << 6U * static_cast<unsigned>(padding);
    *out++ = static_cast<std::byte>(bits >> 16U);
    if (padding == 1) *out++ = static_cast<std::byte>(bits >> 8U);
    if ((padding == 1 ? bits & 0xFFU : bits & 0xFFFFU) != 0)
      refuse("the data URL is not valid base64: its last digit has bits to spare");
  }
  return decoded;
}

}  // namespace

bool is_data_url(std::string_view url) {
  return equals_ignoring_case(url.substr(0, kScheme.size()), kScheme);
}

std::vector<std::byte> decode_data_url(std::string_view url, std::string_view type, size_t max_bytes) {
  const std::string form = "data:" + std::string(type) + "/…;base64,…";
  const size_t comma = url.find(',');
  if (!is_data_url(url) || comma == std::string_view::npos) refuse("the data URL must have the form " + form);
  std::string_view header = url.substr(kScheme.size(), comma - kScheme.size());
  constexpr std::string_view kEncoding = ";base64";
  const size_t at = header.size() < kEncoding.size() ? 0 : header.size() - kEncoding.size();
  if (!equals_ignoring_case(header.substr(at), kEncoding) || !is_media_type(header.substr(0, at), type))
    refuse("the data URL must have the form " + form);
  return decode_base64(url.substr(comma + 1), max_bytes);
}

}  // namespace d3::media
