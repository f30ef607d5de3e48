// cpu/arithmetic.h: what this CPU's products are worth, found by running them.
#pragma once

#include "cpu/machine.h"

namespace d3::cpu {

/// Rates of the products of bf16 weights, on one thread, operations per second.
struct Bf16Rates {
  double bfloat16 = 0;  ///< ProductType::kBfloat16; 0 where oneDNN has none for this CPU
  double float16 = 0;   ///< ProductType::kFloat16; 0 where this CPU has none
  double float32 = 0;   ///< ProductType::kWidened
};

/// Multiplies one block of a typical shape a few times each way and takes the best of each: some
/// milliseconds. CPUs with AVX512_BF16 differ by a factor of eight in how fast it is, from half the fp32 rate
/// to twice, so their feature flags do not tell.
Bf16Rates measure_bf16_rates(Machine& machine);

/// Whether oneDNN's int8 products exist here and add without saturating: without VNNI, AVX2 adds pairs of
/// u8 x s8 products in 16 bits, which large values overflow.
bool int8_products_are_exact(Machine& machine);

/// Rates of int8 products that add exactly, on one thread, operations per second; 0 where this CPU has none.
struct Int8Rates {
  double one_scale = 0;  ///< ProductType::kInt8
  double grouped = 0;    ///< ProductType::kGroupedInt8
};

/// As measure_bf16_rates.
Int8Rates measure_int8_rates(Machine& machine);

}  // namespace d3::cpu
