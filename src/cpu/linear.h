// cpu/linear.h: fused linear layers: weights packed in column panels, run block by block with an epilogue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cpu/aligned_buffer.h"
#include "cpu/machine.h"

namespace d3::cpu {

/// Rows of checkpoint weights [out_features, in_features] that become neighbouring columns of a panel.
struct WeightRows {
  const checkpoint::TensorView* weight = nullptr;
  int first_row = 0;
  int rows = 0;
};

/// One panel: the columns that one work item produces together, with a tag for the epilogue.
struct PanelSpec {
  std::vector<WeightRows> parts;
  int role = 0;   ///< the caller's own meaning
  int index = 0;  ///< the caller's own: which head, which slice
};

/// A finished block of a product: fp32 values[rows, columns] of one panel, for rows row .. row + rows of the
/// input. `values` belongs to the worker and may be overwritten by the epilogue.
struct ProductBlock {
  int role = 0;
  int index = 0;
  int64_t row = 0;
  int rows = 0;
  int columns = 0;
  float* values = nullptr;
  int worker = 0;
};

/// Some of a Linear's panels: first .. end.
struct PanelRange {
  size_t first = 0;
  size_t end = SIZE_MAX;
};

/// Whether a Linear of that type refers to the weight's data and needs it for as long as itself: kWidened and
/// kFloat32 for bf16 weights, kFloat32 for fp32 weights, too, at aligned addresses. Other weights are copied.
bool reads_in_place(ProductType type, const checkpoint::TensorView& weight);

/// y = x Wᵀ for several weights at once, in one of the product types. kWidened: weights rounded to bf16;
/// kFloat32: as they are. kInt8: weights per output channel (symmetric, max|w| / 127), activations per row
/// (kernels.quantize). kGroupedInt8: KernelTable::int8.
class Linear {
 public:
  Linear() = default;

  /// Packs the panels in parallel; see reads_in_place for what is not packed.
  Linear(Machine& machine, ProductType type, std::span<const PanelSpec> panels);

  /// Runs the product on `rows` rows of x [rows, in_features] (T: Bf16 for kBfloat16, either for kInt8, float
  /// for the others) and hands every block to the epilogue, from any worker. x must be readable, and hold
  /// finite numbers, up to the row count rounded up to MatmulCache::bucket_rows. `range` runs some panels
  /// only. Blocks of a panel follow each other, so its weights stay in cache.
  template <typename T>
  void run(Machine& machine, const T* x, int64_t rows,
           const std::function<void(const ProductBlock&)>& epilogue, PanelRange range = {}) const;

  int in_features() const { return in_features_; }
  size_t packed_bytes() const { return packed_.size(); }

 private:
  struct Panel {
    int role = 0;
    int index = 0;
    int columns = 0;
    size_t offset = 0;         ///< in packed_
    size_t column_offset = 0;  ///< in column_scale_, column_offset_, bf16_columns_ and float32_columns_
    bool float32 = false;      ///< its columns are float32_columns_
  };

  /// How rows are cut into work items, and the products of the panels that run.
  struct Plan;

  void pack(Machine& machine, std::span<const PanelSpec> specs);
  void refer_to_weights(Machine& machine, std::span<const PanelSpec> specs, size_t columns);
  void pack_columns(Machine& machine, const PanelSpec& spec, const Panel& panel);
  void pack_panel(Machine& machine, const PanelSpec& spec, const Panel& panel);
  Plan plan(Machine& machine, std::span<const Panel> panels, int64_t rows) const;
  template <typename T>
  const std::byte* prepare_input(Machine& machine, const T* x, const Plan& plan) const;
  template <typename T>
  void quantize_input(Machine& machine, const T* x, int64_t rows) const;
  void tile_input(Machine& machine, const float* x, const Plan& plan) const;
  void multiply(Machine& machine, const Plan& plan, size_t item, const std::byte* input,
                const ProductBlock& block) const;
  void finish_int8(Machine& machine, const Panel& panel, const ProductBlock& block) const;

  ProductType type_ = ProductType::kFloat32;
  int in_features_ = 0;
  std::vector<Panel> panels_;
  AlignedBuffer packed_;
  std::vector<const Bf16*> bf16_columns_;  // kWidened and kFloat32 only: in_features values for each column
  std::vector<const float*> float32_columns_;
  std::vector<float> column_scale_;     // int8 only
  std::vector<int32_t> column_offset_;  // int8 only: 128 x the column's sum
};

}  // namespace d3::cpu
