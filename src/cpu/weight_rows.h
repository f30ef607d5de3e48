// cpu/weight_rows.h: checkpoint tensors of any dtype as fp32 rows.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace d3::cpu {

/// Writes elements first .. first + count of the flattened tensor as fp32.
void read_floats(const checkpoint::TensorView& tensor, int64_t first, int64_t count, float* out);

/// The whole tensor as fp32, plus `offset` (RMSNorm weights are stored as weight and used as 1 + weight).
std::vector<float> read_floats(const checkpoint::TensorView& tensor, float offset = 0.0F);

}  // namespace d3::cpu
