// model/vision_tensors.h: the vision tower as named tensors, in the checkpoint's own words.
#pragma once

#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/text_tensors.h"

namespace d3::model {

struct WeightAndBias {
  Tensor weight = nullptr;
  Tensor bias = nullptr;  ///< as long as the weight has rows
};

/// C = hidden_size, I = intermediate_size.
struct VisionBlockTensors {
  WeightAndBias norm1;       ///< [C]
  WeightAndBias qkv;         ///< [3 * C, C]: all heads' queries, then keys, then values
  WeightAndBias proj;        ///< [C, C]
  WeightAndBias norm2;       ///< [C]
  WeightAndBias linear_fc1;  ///< [I, C]
  WeightAndBias linear_fc2;  ///< [C, I]
};

struct VisionTensors {
  WeightAndBias patch_embed;   ///< [C, 3, 2, 16, 16]
  Tensor pos_embed = nullptr;  ///< [side * side, C]
  std::vector<VisionBlockTensors> blocks;
  WeightAndBias merger_norm;        ///< [C]
  WeightAndBias merger_linear_fc1;  ///< [4 * C, 4 * C]
  WeightAndBias merger_linear_fc2;  ///< [out_hidden_size, 4 * C]
};

/// The checkpoint must have a tower (Checkpoint::has_vision) and outlive the result.
VisionTensors bind_vision_tensors(const checkpoint::Checkpoint& checkpoint);

}  // namespace d3::model
