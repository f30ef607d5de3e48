#include "cpu/text_weights.h"

#include <algorithm>
#include <initializer_list>

#include "cpu/weight_rows.h"
#include "model/text_tensors.h"

namespace d3::cpu {
namespace {

// Columns of weights one work item multiplies (kBlockRows in linear.cc is the other half of the choice).
constexpr int kPanelColumns = 256;

/// Cuts rows [0, weight rows) into panels of kPanelColumns; index is the first column plus `column`.
void add_panels(std::vector<PanelSpec>& panels, const checkpoint::TensorView* weight, int role,
                int column = 0) {
  const int rows = static_cast<int>(weight->shape[0]);
  for (int row = 0; row < rows; row += kPanelColumns)
    panels.push_back({{{weight, row, std::min(kPanelColumns, rows - row)}}, role, column + row});
}

Linear pack_residual(Machine& machine, ProductType type, const checkpoint::TensorView* weight) {
  std::vector<PanelSpec> panels;
  add_panels(panels, weight, kResidual);
  return {machine, type, panels};
}

FullAttentionWeights pack_full_attention(Machine& machine, ProductType type,
                                         const checkpoint::TextConfig& config,
                                         const model::FullAttentionTensors& tensors) {
  std::vector<PanelSpec> panels;
  const int dim = config.head_dim;
  for (int head = 0; head < config.num_attention_heads; ++head) {
    panels.push_back({{{tensors.q_proj, 2 * head * dim, dim}}, kQuery, head});
    panels.push_back({{{tensors.q_proj, (2 * head + 1) * dim, dim}}, kGate, head});
  }
  const size_t query_panels = panels.size();
  for (int head = 0; head < config.num_key_value_heads; ++head) {
    panels.push_back({{{tensors.k_proj, head * dim, dim}}, kKey, head});
    panels.push_back({{{tensors.v_proj, head * dim, dim}}, kValue, head});
  }
  return {.qkv = Linear(machine, type, panels),
          .query_panels = {0, query_panels},
          .key_value_panels = {query_panels, panels.size()},
          .q_norm = read_floats(*tensors.q_norm, 1.0F),
          .k_norm = read_floats(*tensors.k_norm, 1.0F),
          .o_proj = pack_residual(machine, type, tensors.o_proj)};
}

LinearAttentionWeights pack_linear_attention(Machine& machine, ProductType type,
                                             const checkpoint::TextConfig& config,
                                             const model::LinearAttentionTensors& tensors) {
  std::vector<PanelSpec> panels;
  add_panels(panels, tensors.in_proj_qkv, kQkv);
  const int value_heads = config.linear_num_value_heads;
  panels.push_back({{{tensors.in_proj_b, 0, value_heads}, {tensors.in_proj_a, 0, value_heads}}, kBa, 0});
  const size_t state_panels = panels.size();
  add_panels(panels, tensors.in_proj_z, kZ);
  return {.in_proj = Linear(machine, type, panels),
          .state_panels = {0, state_panels},
          .z_panels = {state_panels, panels.size()},
          .delta = DeltaNetWeights(config, tensors),
          .out_proj = pack_residual(machine, type, tensors.out_proj)};
}

MlpWeights pack_mlp(Machine& machine, ProductType type, const model::MlpTensors& tensors) {
  std::vector<PanelSpec> panels;
  const int size = static_cast<int>(tensors.gate_proj->shape[0]);
  for (int row = 0; row < size; row += kPanelColumns / 2) {
    const int rows = std::min(kPanelColumns / 2, size - row);
    panels.push_back({{{tensors.gate_proj, row, rows}, {tensors.up_proj, row, rows}}, kGateUp, row});
  }
  return {.gate_up = Linear(machine, type, panels),
          .down_proj = pack_residual(machine, type, tensors.down_proj)};
}

LayerWeights pack_layer(Machine& machine, ProductType type, const checkpoint::TextConfig& config,
                        const model::LayerTensors& tensors) {
  LayerWeights layer;
  layer.input_layernorm = read_floats(*tensors.input_layernorm, 1.0F);
  layer.post_attention_layernorm = read_floats(*tensors.post_attention_layernorm, 1.0F);
  if (tensors.self_attn) layer.self_attn = pack_full_attention(machine, type, config, *tensors.self_attn);
  if (tensors.linear_attn)
    layer.linear_attn = pack_linear_attention(machine, type, config, *tensors.linear_attn);
  layer.mlp = pack_mlp(machine, type, tensors.mlp);
  return layer;
}

/// The pages of what was copied.
void release_layer_pages(const checkpoint::Checkpoint& checkpoint, ProductType type,
                         const model::LayerTensors& layer) {
  const auto release = [&](std::initializer_list<model::Tensor> tensors) {
    for (const model::Tensor tensor : tensors)
      if (!reads_in_place(type, *tensor)) checkpoint.release_pages(*tensor);
  };
  if (layer.self_attn)
    release(
        {layer.self_attn->q_proj, layer.self_attn->k_proj, layer.self_attn->v_proj, layer.self_attn->o_proj});
  if (layer.linear_attn)
    release({layer.linear_attn->in_proj_qkv, layer.linear_attn->in_proj_z, layer.linear_attn->out_proj});
  release({layer.mlp.gate_proj, layer.mlp.up_proj, layer.mlp.down_proj});
}

/// The readout runs in fp32 products always; a bf16 readout's weights are rounded to bf16.
Linear pack_readout(Machine& machine, const checkpoint::TensorView& readout, checkpoint::ReadoutDtype dtype) {
  const PanelSpec panel{{{&readout, 0, static_cast<int>(readout.shape[0])}}, kLogits, 0};
  return {machine,
          dtype == checkpoint::ReadoutDtype::kBfloat16 ? ProductType::kWidened : ProductType::kFloat32,
          std::span(&panel, 1)};
}

}  // namespace

TextWeights pack_text_weights(Machine& machine, const checkpoint::Checkpoint& checkpoint, ProductType type,
                              const std::function<void(double)>& on_progress) {
  const model::TextTensors tensors = model::bind_text_tensors(checkpoint);
  TextWeights weights;
  weights.embed_tokens = tensors.embed_tokens;
  for (const model::LayerTensors& layer : tensors.layers) {
    weights.layers.push_back(pack_layer(machine, type, checkpoint.config().text, layer));
    release_layer_pages(checkpoint, type, layer);
    if (on_progress)
      on_progress(static_cast<double>(weights.layers.size()) / static_cast<double>(tensors.layers.size()));
  }
  weights.norm = read_floats(*tensors.norm, 1.0F);
  weights.readout = pack_readout(machine, *tensors.readout, checkpoint.decision().readout_dtype);
  return weights;
}

}  // namespace d3::cpu
