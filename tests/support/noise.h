// tests/support/noise.h: the random numbers of the checkpoints with random weights, the same on every
// machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace d3::test {

/// One block of Philox4x64 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// 2011).
std::array<uint64_t, 4> philox4x64(const std::array<uint64_t, 4>& counter,
                                   const std::array<uint64_t, 2>& key);

/// `count` values centre + scale * u, u uniform of unit variance: the 16-bit quarters (low first) of NumPy's
/// Philox(key).random_raw(), key the first 16 bytes of SHA-256(name), each taken as (q - 32767.5) *
/// sqrt(12)/65536 in float32. NumPy counts from 1: it steps its counter before each block.
std::vector<float> noise(std::string_view name, size_t count, float scale, float centre);

/// float32 -> bfloat16 and IEEE half bits, to nearest even; for finite values.
uint16_t to_bfloat16(float value);
uint16_t to_float16(float value);

}  // namespace d3::test
