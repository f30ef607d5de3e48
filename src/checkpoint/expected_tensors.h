// checkpoint/expected_tensors.h: the tensors that a configuration calls for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/config.h"

namespace d3::checkpoint {

struct ExpectedTensor {
  std::string name;  ///< without the file's prefix
  std::vector<int64_t> shape;
};

/// `language_model.*`. H = hidden_size, I = intermediate_size, q and kv the numbers of query and key/value
/// heads of head_dim D; K and V those of key and value heads of 128, C = (2 K + V) * 128 convolved channels:
///   embed_tokens.weight [vocab, H], norm.weight [H]; in each layer, layers.N.
///   input_layernorm.weight [H], post_attention_layernorm.weight [H], mlp.{gate,up}_proj.weight [I, H],
///   mlp.down_proj.weight [H, I]; and of full_attention, self_attn.
///     q_proj.weight [q * 2 D, H] (each head's queries, then its gate), {k,v}_proj.weight [kv * D, H],
///     o_proj.weight [H, q * D], {q,k}_norm.weight [D]
///   or of linear_attention, linear_attn.
///     in_proj_qkv.weight [C, H], in_proj_z.weight [V * 128, H], in_proj_{b,a}.weight [V, H],
///     conv1d.weight [C, 1, 4], A_log [V], dt_bias [V], norm.weight [128], out_proj.weight [H, V * 128]
std::vector<ExpectedTensor> expected_text_tensors(const TextConfig& config);

/// `visual.*`. c = hidden_size, i = intermediate_size, m = c * 4 (a merged block of 2 x 2 patches):
///   patch_embed.proj.weight [c, 3, 2, 16, 16] and bias [c], pos_embed.weight [positions, c]; in each block,
///   blocks.N. norm1, norm2: weight and bias [c]; attn.qkv [3 c, c], attn.proj [c, c], mlp.linear_fc1 [i, c],
///   mlp.linear_fc2 [c, i]: weight, and bias of its rows
///   merger.norm: weight and bias [c]; merger.linear_fc1 [m, m], merger.linear_fc2 [out, m]: weight and bias.
std::vector<ExpectedTensor> expected_vision_tensors(const VisionConfig& config);

}  // namespace d3::checkpoint
