#include "checkpoint/expected_tensors.h"

#include <utility>

#include <fmt/format.h>

namespace d3::checkpoint {
namespace {

class TensorList {
 public:
  void add(std::string name, std::vector<int64_t> shape) {
    tensors_.push_back({std::move(name), std::move(shape)});
  }

  /// NAME.weight of a shape and NAME.bias of its rows.
  void add_with_bias(const std::string& name, std::vector<int64_t> shape) {
    const int64_t rows = shape.front();
    add(name + ".weight", std::move(shape));
    add(name + ".bias", {rows});
  }

  std::vector<ExpectedTensor> take() { return std::move(tensors_); }

 private:
  std::vector<ExpectedTensor> tensors_;
};

void add_full_attention(TensorList& list, const std::string& at, const TextConfig& config) {
  const int64_t hidden = config.hidden_size, head = config.head_dim;
  const int64_t queries = config.num_attention_heads * head, keys = config.num_key_value_heads * head;
  list.add(at + "q_proj.weight", {2 * queries, hidden});
  list.add(at + "k_proj.weight", {keys, hidden});
  list.add(at + "v_proj.weight", {keys, hidden});
  list.add(at + "o_proj.weight", {hidden, queries});
  list.add(at + "q_norm.weight", {head});
  list.add(at + "k_norm.weight", {head});
}

void add_linear_attention(TensorList& list, const std::string& at, const TextConfig& config) {
  const int64_t hidden = config.hidden_size, heads = config.linear_num_value_heads;
  const int64_t keys = int64_t{config.linear_num_key_heads} * config.linear_key_head_dim;
  const int64_t values = heads * config.linear_value_head_dim;
  const int64_t channels = 2 * keys + values;
  list.add(at + "in_proj_qkv.weight", {channels, hidden});
  list.add(at + "in_proj_z.weight", {values, hidden});
  list.add(at + "in_proj_b.weight", {heads, hidden});
  list.add(at + "in_proj_a.weight", {heads, hidden});
  list.add(at + "conv1d.weight", {channels, 1, config.linear_conv_kernel_dim});
  list.add(at + "A_log", {heads});
  list.add(at + "dt_bias", {heads});
  list.add(at + "norm.weight", {config.linear_value_head_dim});
  list.add(at + "out_proj.weight", {hidden, values});
}

}  // namespace

std::vector<ExpectedTensor> expected_text_tensors(const TextConfig& config) {
  const int64_t hidden = config.hidden_size, intermediate = config.intermediate_size;
  TensorList list;
  list.add("language_model.embed_tokens.weight", {config.vocab_size, hidden});
  list.add("language_model.norm.weight", {hidden});
  for (size_t layer = 0; layer < config.layer_types.size(); ++layer) {
    const std::string at = fmt::format("language_model.layers.{}.", layer);
    list.add(at + "input_layernorm.weight", {hidden});
    list.add(at + "post_attention_layernorm.weight", {hidden});
    list.add(at + "mlp.gate_proj.weight", {intermediate, hidden});
    list.add(at + "mlp.up_proj.weight", {intermediate, hidden});
    list.add(at + "mlp.down_proj.weight", {hidden, intermediate});
    if (config.layer_types[layer] == LayerType::kFullAttention)
      add_full_attention(list, at + "self_attn.", config);
    else
      add_linear_attention(list, at + "linear_attn.", config);
  }
  return list.take();
}

std::vector<ExpectedTensor> expected_vision_tensors(const VisionConfig& config) {
  const int64_t hidden = config.hidden_size, intermediate = config.intermediate_size,
                patch = config.patch_size;
  const int64_t merged = hidden * config.spatial_merge_size * config.spatial_merge_size;
  TensorList list;
  list.add_with_bias("visual.patch_embed.proj",
                     {hidden, config.in_channels, config.temporal_patch_size, patch, patch});
  list.add("visual.pos_embed.weight", {config.num_position_embeddings, hidden});
  for (int block = 0; block < config.depth; ++block) {
    const std::string at = fmt::format("visual.blocks.{}.", block);
    list.add_with_bias(at + "norm1", {hidden});
    list.add_with_bias(at + "norm2", {hidden});
    list.add_with_bias(at + "attn.qkv", {3 * hidden, hidden});
    list.add_with_bias(at + "attn.proj", {hidden, hidden});
    list.add_with_bias(at + "mlp.linear_fc1", {intermediate, hidden});
    list.add_with_bias(at + "mlp.linear_fc2", {hidden, intermediate});
  }
  list.add_with_bias("visual.merger.norm", {hidden});
  list.add_with_bias("visual.merger.linear_fc1", {merged, merged});
  list.add_with_bias("visual.merger.linear_fc2", {config.out_hidden_size, merged});
  return list.take();
}

}  // namespace d3::checkpoint
