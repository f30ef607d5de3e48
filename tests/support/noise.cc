#include "support/noise.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "checkpoint/sha256.h"

namespace d3::test {

std::array<uint64_t, 4> philox4x64(const std::array<uint64_t, 4>& counter,
                                   const std::array<uint64_t, 2>& key) {
  constexpr uint64_t kMultiplier0 = 0xD2E7470EE14C6C93, kMultiplier1 = 0xCA5A826395121157;
  constexpr uint64_t kWeyl0 = 0x9E3779B97F4A7C15, kWeyl1 = 0xBB67AE8584CAA73B;
  __extension__ using Uint128 = unsigned __int128;
  std::array<uint64_t, 4> x = counter;
  uint64_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const Uint128 product0 = static_cast<Uint128>(kMultiplier0) * x[0];
    const Uint128 product1 = static_cast<Uint128>(kMultiplier1) * x[2];
    x = {static_cast<uint64_t>(product1 >> 64) ^ x[1] ^ key0, static_cast<uint64_t>(product1),
         static_cast<uint64_t>(product0 >> 64) ^ x[3] ^ key1, static_cast<uint64_t>(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

std::vector<float> noise(std::string_view name, size_t count, float scale, float centre) {
  const checkpoint::Sha256::Digest digest =
      checkpoint::Sha256::of(std::as_bytes(std::span(name.data(), name.size())));
  std::array<uint64_t, 2> key{};
  std::memcpy(key.data(), digest.data(), sizeof(key));
  const float unit = static_cast<float>(std::sqrt(12.0) / 65536.0);
  std::vector<float> values(count);
  uint64_t block_number = 0;
  for (size_t i = 0; i < count;) {
    const std::array<uint64_t, 4> block = philox4x64({++block_number, 0, 0, 0}, key);
    for (int quarter = 0; quarter < 16 && i < count; ++quarter, ++i) {
      const auto bits = static_cast<uint16_t>(block[static_cast<size_t>(quarter / 4)] >> (quarter % 4 * 16));
      const float u = (static_cast<float>(bits) - 32767.5F) * unit;
      const float scaled = scale * u;
      values[i] = centre + scaled;
    }
  }
  return values;
}

uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

uint16_t to_float16(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return sign | 0x7C00;
  // The value in steps of the half's grid there: 10 bits below the leading one, 2^-24 for subnormals.
  const int exponent = magnitude < std::ldexp(1.0F, -14) ? -14 : std::ilogb(magnitude);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A normal number's steps include its leading one, which the exponent field then counts.
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 14) << 10) + steps));
}

}  // namespace d3::test
