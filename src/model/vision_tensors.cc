#include "model/vision_tensors.h"

#include <string>

namespace d3::model {

VisionTensors bind_vision_tensors(const checkpoint::Checkpoint& checkpoint) {
  const auto find = [&](const std::string& name) -> WeightAndBias {
    return {.weight = &checkpoint.tensor("visual." + name + ".weight"),
            .bias = &checkpoint.tensor("visual." + name + ".bias")};
  };
  VisionTensors tensors;
  tensors.patch_embed = find("patch_embed.proj");
  tensors.pos_embed = &checkpoint.tensor("visual.pos_embed.weight");
  for (int i = 0; i < checkpoint.config().vision->depth; ++i) {
    const std::string at = "blocks." + std::to_string(i) + ".";
    tensors.blocks.push_back({.norm1 = find(at + "norm1"),
                              .qkv = find(at + "attn.qkv"),
                              .proj = find(at + "attn.proj"),
                              .norm2 = find(at + "norm2"),
                              .linear_fc1 = find(at + "mlp.linear_fc1"),
                              .linear_fc2 = find(at + "mlp.linear_fc2")});
  }
  tensors.merger_norm = find("merger.norm");
  tensors.merger_linear_fc1 = find("merger.linear_fc1");
  tensors.merger_linear_fc2 = find("merger.linear_fc2");
  return tensors;
}

}  // namespace d3::model
