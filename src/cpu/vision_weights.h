// cpu/vision_weights.h: the vision tower's weights, packed for products, and the small ones in fp32.
#pragma once

#include <functional>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cpu/linear.h"
#include "cpu/machine.h"

namespace d3::cpu {

/// A product and what is added to it. Panels' index is their first column.
struct BiasedLinear {
  Linear linear;
  std::vector<float> bias;  ///< [out_features]
};

struct LayerNormWeights {
  std::vector<float> weight;  ///< [hidden_size]
  std::vector<float> bias;    ///< [hidden_size]
};

struct VisionBlockWeights {
  LayerNormWeights norm1;
  BiasedLinear qkv;  ///< a panel holds whole heads of queries, keys or values
  BiasedLinear proj;
  LayerNormWeights norm2;
  BiasedLinear linear_fc1;
  BiasedLinear linear_fc2;
};

struct VisionWeights {
  BiasedLinear patch_embed;      ///< in_features: [3 channels, 2 frames, 16 rows, 16 columns]
  std::vector<float> pos_embed;  ///< [side * side, hidden_size]
  std::vector<VisionBlockWeights> blocks;
  LayerNormWeights merger_norm;
  BiasedLinear merger_linear_fc1;  ///< in_features: 4 patches side by side
  BiasedLinear merger_linear_fc2;
};

/// Packs all weights, block by block, and gives the mapped pages of each packed tensor back. on_progress is
/// called after each block with the share done.
VisionWeights pack_vision_weights(Machine& machine, const checkpoint::Checkpoint& checkpoint,
                                  ProductType type, const std::function<void(double)>& on_progress);

}  // namespace d3::cpu
