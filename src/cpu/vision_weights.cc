#include "cpu/vision_weights.h"

#include <algorithm>

#include "cpu/weight_rows.h"
#include "model/vision_tensors.h"

namespace d3::cpu {
namespace {

// Columns of weights one work item multiplies, as in the text model.
constexpr int kPanelColumns = 256;

/// Reads the tensors of one tower; a packed weight's pages are given back at once.
class Packer {
 public:
  Packer(Machine& machine, const checkpoint::Checkpoint& checkpoint, ProductType type)
      : machine_(machine), checkpoint_(checkpoint), type_(type) {}

  /// Panels of at most kPanelColumns columns and whole `unit`s of them.
  BiasedLinear linear(const model::WeightAndBias& tensors, int unit = 1) const {
    const checkpoint::TensorView matrix = as_matrix(*tensors.weight);
    const int rows = static_cast<int>(matrix.shape[0]);
    const int columns = std::max(1, kPanelColumns / unit) * unit;
    std::vector<PanelSpec> panels;
    for (int row = 0; row < rows; row += columns)
      panels.push_back({{{&matrix, row, std::min(columns, rows - row)}}, 0, row});
    BiasedLinear packed{.linear = Linear(machine_, type_, panels), .bias = read_floats(*tensors.bias)};
    if (!reads_in_place(type_, *tensors.weight)) checkpoint_.release_pages(*tensors.weight);
    return packed;
  }

  static LayerNormWeights norm(const model::WeightAndBias& tensors) {
    return {.weight = read_floats(*tensors.weight), .bias = read_floats(*tensors.bias)};
  }

 private:
  /// The convolution's kernel has as many values as a patch: it is a matrix of them.
  static checkpoint::TensorView as_matrix(const checkpoint::TensorView& tensor) {
    checkpoint::TensorView matrix = tensor;
    int64_t columns = 1;
    for (size_t i = 1; i < tensor.shape.size(); ++i) columns *= tensor.shape[i];
    matrix.shape = {tensor.shape[0], columns};
    return matrix;
  }

  Machine& machine_;
  const checkpoint::Checkpoint& checkpoint_;
  const ProductType type_;
};

}  // namespace

VisionWeights pack_vision_weights(Machine& machine, const checkpoint::Checkpoint& checkpoint,
                                  ProductType type, const std::function<void(double)>& on_progress) {
  const checkpoint::VisionConfig& config = *checkpoint.config().vision;
  const int head_dim = config.hidden_size / config.num_heads;
  const model::VisionTensors tensors = model::bind_vision_tensors(checkpoint);
  const Packer pack(machine, checkpoint, type);
  VisionWeights weights;
  weights.patch_embed = pack.linear(tensors.patch_embed);
  weights.pos_embed = read_floats(*tensors.pos_embed);
  for (const model::VisionBlockTensors& block : tensors.blocks) {
    weights.blocks.push_back({.norm1 = Packer::norm(block.norm1),
                              .qkv = pack.linear(block.qkv, head_dim),
                              .proj = pack.linear(block.proj),
                              .norm2 = Packer::norm(block.norm2),
                              .linear_fc1 = pack.linear(block.linear_fc1),
                              .linear_fc2 = pack.linear(block.linear_fc2)});
    if (on_progress)
      on_progress(static_cast<double>(weights.blocks.size()) / static_cast<double>(tensors.blocks.size()));
  }
  weights.merger_norm = Packer::norm(tensors.merger_norm);
  weights.merger_linear_fc1 = pack.linear(tensors.merger_linear_fc1);
  weights.merger_linear_fc2 = pack.linear(tensors.merger_linear_fc2);
  return weights;
}

}  // namespace d3::cpu
