#include "model/text_tensors.h"

#include <string>

namespace d3::model {
namespace {

/// Looks tensors up under one layer's name.
class Scope {
 public:
  Scope(const checkpoint::Checkpoint& checkpoint, std::string name)
      : checkpoint_(checkpoint), name_(std::move(name)) {}
  Tensor operator()(const char* tensor) const { return &checkpoint_.tensor(name_ + tensor); }

 private:
  const checkpoint::Checkpoint& checkpoint_;
  std::string name_;
};

FullAttentionTensors bind_full_attention(const Scope& find) {
  return {.q_proj = find("self_attn.q_proj.weight"),
          .k_proj = find("self_attn.k_proj.weight"),
          .v_proj = find("self_attn.v_proj.weight"),
          .o_proj = find("self_attn.o_proj.weight"),
          .q_norm = find("self_attn.q_norm.weight"),
          .k_norm = find("self_attn.k_norm.weight")};
}

LinearAttentionTensors bind_linear_attention(const Scope& find) {
  return {.in_proj_qkv = find("linear_attn.in_proj_qkv.weight"),
          .in_proj_z = find("linear_attn.in_proj_z.weight"),
          .in_proj_b = find("linear_attn.in_proj_b.weight"),
          .in_proj_a = find("linear_attn.in_proj_a.weight"),
          .conv1d = find("linear_attn.conv1d.weight"),
          .A_log = find("linear_attn.A_log"),
          .dt_bias = find("linear_attn.dt_bias"),
          .norm = find("linear_attn.norm.weight"),
          .out_proj = find("linear_attn.out_proj.weight")};
}

}  // namespace

TextTensors bind_text_tensors(const checkpoint::Checkpoint& checkpoint) {
  const Scope text(checkpoint, "language_model.");
  TextTensors tensors;
  tensors.embed_tokens = text("embed_tokens.weight");
  tensors.norm = text("norm.weight");
  tensors.readout = &checkpoint.readout();
  const std::vector<checkpoint::LayerType>& types = checkpoint.config().text.layer_types;
  for (size_t i = 0; i < types.size(); ++i) {
    const Scope find(checkpoint, "language_model.layers." + std::to_string(i) + ".");
    LayerTensors layer;
    layer.input_layernorm = find("input_layernorm.weight");
    layer.post_attention_layernorm = find("post_attention_layernorm.weight");
    if (types[i] == checkpoint::LayerType::kFullAttention)
      layer.self_attn = bind_full_attention(find);
    else
      layer.linear_attn = bind_linear_attention(find);
    layer.mlp = {.gate_proj = find("mlp.gate_proj.weight"),
                 .up_proj = find("mlp.up_proj.weight"),
                 .down_proj = find("mlp.down_proj.weight")};
    tensors.layers.push_back(layer);
  }
  return tensors;
}

}  // namespace d3::model
