// cpu/bf16.h: bfloat16, the upper half of a float32.
#pragma once

#include <bit>
#include <cstdint>

namespace d3::cpu {

struct Bf16 {
  uint16_t bits = 0;
};

inline float to_float(Bf16 value) { return std::bit_cast<float>(uint32_t{value.bits} << 16); }
inline float to_float(float value) { return value; }

/// Rounds to the nearest, ties to even. NaN stays NaN.
inline Bf16 to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

}  // namespace d3::cpu
