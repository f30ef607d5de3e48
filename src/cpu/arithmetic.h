// cpu/arithmetic.h: which products of bf16 weights are faster on this CPU.
#pragma once

#include "cpu/machine.h"

namespace d3::cpu {

/// Rates of the two products of bf16 weights, on one thread, operations per second.
struct Bf16Rates {
  double bfloat16 = 0;  ///< ProductType::kBfloat16; 0 where oneDNN has none for this CPU
  double float32 = 0;   ///< ProductType::kWidened
};

/// Multiplies one block of a typical shape a few times each way and takes the best of each: some
/// milliseconds. CPUs with AVX512_BF16 differ by a factor of eight in how fast it is, from half the fp32 rate
/// to twice, so their feature flags do not tell.
Bf16Rates measure_bf16_rates(Machine& machine);

}  // namespace d3::cpu
