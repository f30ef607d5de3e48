// model/text_tensors.h: the text backbone as named tensors: what a layer is made of, in the checkpoint's own
// words.
#pragma once

#include <optional>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace d3::model {

using Tensor = const checkpoint::TensorView*;

/// Gated full attention. H = hidden_size, D = head_dim.
struct FullAttentionTensors {
  Tensor q_proj = nullptr;  ///< [heads * 2 * D, H]: for each head D rows of query, then D rows of gate
  Tensor k_proj = nullptr;  ///< [kv_heads * D, H]
  Tensor v_proj = nullptr;  ///< [kv_heads * D, H]
  Tensor o_proj = nullptr;  ///< [H, heads * D]
  Tensor q_norm = nullptr;  ///< [D]
  Tensor k_norm = nullptr;  ///< [D]
};

/// Gated DeltaNet with K key heads and V value heads of 128.
struct LinearAttentionTensors {
  Tensor in_proj_qkv = nullptr;  ///< [K*128 q | K*128 k | V*128 v, H]
  Tensor in_proj_z = nullptr;    ///< [V*128, H]
  Tensor in_proj_b = nullptr;    ///< [V, H]
  Tensor in_proj_a = nullptr;    ///< [V, H]
  Tensor conv1d = nullptr;       ///< [channels of qkv, 1, 4]
  Tensor A_log = nullptr;        ///< [V]
  Tensor dt_bias = nullptr;      ///< [V]
  Tensor norm = nullptr;         ///< [128]
  Tensor out_proj = nullptr;     ///< [H, V*128]
};

struct MlpTensors {
  Tensor gate_proj = nullptr;  ///< [intermediate_size, H]
  Tensor up_proj = nullptr;    ///< [intermediate_size, H]
  Tensor down_proj = nullptr;  ///< [H, intermediate_size]
};

/// One decoder layer: exactly one of the two mixers is set.
struct LayerTensors {
  Tensor input_layernorm = nullptr;  ///< [H]
  std::optional<FullAttentionTensors> self_attn;
  std::optional<LinearAttentionTensors> linear_attn;
  Tensor post_attention_layernorm = nullptr;  ///< [H]
  MlpTensors mlp;
};

struct TextTensors {
  Tensor embed_tokens = nullptr;  ///< [vocab_size, H]
  std::vector<LayerTensors> layers;
  Tensor norm = nullptr;     ///< [H]
  Tensor readout = nullptr;  ///< [255, H]
};

/// Finds every tensor of the text model; Error(kBadCheckpoint) names one that is missing. The views live as
/// long as the checkpoint.
TextTensors bind_text_tensors(const checkpoint::Checkpoint& checkpoint);

}  // namespace d3::model
