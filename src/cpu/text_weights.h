// cpu/text_weights.h: the text backbone's weights, packed for products, and the small ones in fp32.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cpu/delta_net.h"
#include "cpu/linear.h"
#include "cpu/machine.h"

namespace d3::cpu {

/// Which projection a panel of a fused product belongs to.
enum PanelRole { kQuery, kGate, kKey, kValue, kQkv, kZ, kBa, kGateUp, kResidual, kLogits };

/// full_attention: q|gate|k|v in one product. kQuery, kGate, kKey and kValue panels are one head each (index:
/// head).
struct FullAttentionWeights {
  Linear qkv;
  PanelRange query_panels;      ///< kQuery and kGate
  PanelRange key_value_panels;  ///< kKey and kValue
  std::vector<float> q_norm;    ///< [head_dim], 1 + weight
  std::vector<float> k_norm;    ///< [head_dim], 1 + weight
  Linear o_proj;                ///< kResidual panels (index: first column)
};

/// linear_attention: qkv|b|a|z in one product. kQkv and kZ panels' index is their first column.
struct LinearAttentionWeights {
  Linear in_proj;
  PanelRange state_panels;  ///< kQkv and kBa: what the recurrence needs
  PanelRange z_panels;      ///< kZ: what the output needs
  DeltaNetWeights delta;
  Linear out_proj;  ///< kResidual panels
};

/// kGateUp panels hold n columns of gate and the same n of up (index: first column).
struct MlpWeights {
  Linear gate_up;
  Linear down_proj;  ///< kResidual panels
};

struct LayerWeights {
  std::vector<float> input_layernorm;           ///< [hidden_size], 1 + weight
  std::vector<float> post_attention_layernorm;  ///< [hidden_size], 1 + weight
  std::optional<FullAttentionWeights> self_attn;
  std::optional<LinearAttentionWeights> linear_attn;
  MlpWeights mlp;
};

struct TextWeights {
  const checkpoint::TensorView* embed_tokens = nullptr;  ///< stays mapped: few of its rows are ever read
  std::vector<LayerWeights> layers;
  std::vector<float> norm;  ///< [hidden_size], 1 + weight
  Linear readout;           ///< fp32 [255, hidden_size], rounded to bf16 first where readout_dtype says so
};

/// Packs all weights, layer by layer in file order, and gives the mapped pages of each packed tensor back.
/// on_progress is called after each layer with the share done.
TextWeights pack_text_weights(Machine& machine, const checkpoint::Checkpoint& checkpoint, ProductType type,
                              const std::function<void(double)>& on_progress);

}  // namespace d3::cpu
