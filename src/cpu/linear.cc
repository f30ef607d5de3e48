#include "cpu/linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/weight_rows.h"

namespace d3::cpu {
namespace {

// Rows of activations one work item multiplies: with 256 columns of weights (1 MiB at 2,048 inputs) they and
// the block stay in a 2 MiB L2 cache.
constexpr int kBlockRows = 128;

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

}  // namespace

Linear::Linear(Machine& machine, ProductType type, std::span<const PanelSpec> panels) : type_(type) {
  in_features_ = static_cast<int>(panels.front().parts.front().weight->shape[1]);
  size_t bytes = 0;
  size_t columns = 0;
  for (const PanelSpec& spec : panels) {
    Panel panel{
        .role = spec.role, .index = spec.index, .columns = 0, .offset = bytes, .column_offset = columns};
    for (const WeightRows& part : spec.parts) panel.columns += part.rows;
    bytes += round_up(machine.products.packed_bytes(type, in_features_, panel.columns), 64);
    columns += round_up(static_cast<size_t>(panel.columns), 16);
    panels_.push_back(panel);
  }
  packed_ = AlignedBuffer(bytes);
  if (type == ProductType::kInt8) {
    column_scale_.resize(columns);
    column_offset_.resize(columns);
  }
  machine.pool.parallel_for(panels.size(),
                            [&](size_t i, int) { pack_panel(machine, panels[i], panels_[i]); });
}

void Linear::pack_panel(Machine& machine, const PanelSpec& spec, const Panel& panel) {
  const auto k = static_cast<size_t>(in_features_);
  const size_t element = element_size(type_);
  std::vector<std::byte> rows(static_cast<size_t>(panel.columns) * k * element);
  std::vector<float> values(k);
  size_t column = 0;
  for (const WeightRows& part : spec.parts) {
    for (int row = part.first_row; row < part.first_row + part.rows; ++row, ++column) {
      std::byte* to = rows.data() + column * k * element;
      const int64_t first = static_cast<int64_t>(row) * in_features_;
      if (type_ == ProductType::kBfloat16 && part.weight->dtype == checkpoint::Dtype::kBfloat16) {
        std::memcpy(to, part.weight->data.data() + first * 2, k * 2);
        continue;
      }
      read_floats(*part.weight, first, in_features_, values.data());
      switch (type_) {
        case ProductType::kFloat32:
          std::memcpy(to, values.data(), k * 4);
          break;
        case ProductType::kBfloat16:
          machine.kernels.bf16.store(values.data(), in_features_, reinterpret_cast<Bf16*>(to));
          break;
        case ProductType::kInt8: {
          auto* quantized = reinterpret_cast<uint8_t*>(to);
          const size_t at = panel.column_offset + column;
          column_scale_[at] = machine.kernels.f32.quantize(values.data(), in_features_, quantized);
          int32_t sum = 0;
          for (size_t i = 0; i < k; ++i) {
            quantized[i] = static_cast<uint8_t>(quantized[i] ^ 0x80U);  // from excess 128 to two's complement
            sum += static_cast<int8_t>(quantized[i]);
          }
          column_offset_[at] = 128 * sum;
          break;
        }
      }
    }
  }
  machine.products.pack(type_, in_features_, panel.columns, true, in_features_, rows.data(),
                        packed_.data() + panel.offset);
}

template <typename T>
void Linear::quantize_input(Machine& machine, const T* x, int64_t rows) const {
  const auto k = static_cast<int64_t>(in_features_);
  uint8_t* quantized = machine.quantized_rows.reserve(static_cast<size_t>((rows + kBlockRows) * k));
  float* scales = machine.quantized_scales.reserve(static_cast<size_t>(rows));
  constexpr int64_t kRows = 16;
  machine.pool.parallel_for(static_cast<size_t>((rows + kRows - 1) / kRows), [&](size_t item, int) {
    const int64_t first = static_cast<int64_t>(item) * kRows;
    for (int64_t row = first; row < std::min(first + kRows, rows); ++row)
      scales[row] = machine.kernels.typed<T>().quantize(x + row * k, in_features_, quantized + row * k);
  });
}

void Linear::finish_int8(Machine& machine, const Panel& panel, const ProductBlock& block) const {
  for (int row = 0; row < block.rows; ++row)
    machine.kernels.dequantize(
        reinterpret_cast<int32_t*>(block.values + static_cast<ptrdiff_t>(row) * block.columns),
        column_offset_.data() + panel.column_offset, machine.quantized_scales.data()[block.row + row],
        column_scale_.data() + panel.column_offset, block.columns);
}

template <typename T>
void Linear::run(Machine& machine, const T* x, int64_t rows,
                 const std::function<void(const ProductBlock&)>& epilogue, PanelRange range) const {
  if (rows == 0) return;
  const auto panels =
      std::span(panels_).subspan(range.first, std::min(range.end, panels_.size()) - range.first);
  const auto* input = reinterpret_cast<const std::byte*>(x);
  if (type_ == ProductType::kInt8) {
    quantize_input(machine, x, rows);
    input = reinterpret_cast<const std::byte*>(machine.quantized_rows.data());
  }
  const auto blocks = static_cast<size_t>((rows + kBlockRows - 1) / kBlockRows);
  const int last_rows = static_cast<int>(rows - static_cast<int64_t>(blocks - 1) * kBlockRows);
  struct PanelProducts {
    const Matmul* whole = nullptr;
    const Matmul* last = nullptr;
  };
  std::vector<PanelProducts> products;
  products.reserve(panels.size());
  for (const Panel& panel : panels) {
    MatmulShape shape{type_, kBlockRows, in_features_, panel.columns, false};
    PanelProducts product;
    if (blocks > 1) product.whole = &machine.products.get(shape);
    shape.m = MatmulCache::bucket_rows(last_rows);
    product.last = &machine.products.get(shape);
    products.push_back(product);
  }
  const size_t row_bytes = static_cast<size_t>(in_features_) * element_size(type_);
  machine.pool.parallel_for(panels.size() * blocks, [&](size_t item, int worker) {
    const size_t p = item / blocks;
    const size_t b = item % blocks;
    const Panel& panel = panels[p];
    const bool last = b + 1 == blocks;
    ProductBlock block{.role = panel.role,
                       .index = panel.index,
                       .row = static_cast<int64_t>(b) * kBlockRows,
                       .rows = last ? last_rows : kBlockRows,
                       .columns = panel.columns,
                       .values = nullptr,
                       .worker = worker};
    block.values = machine.scratch[static_cast<size_t>(worker)].block.reserve(
        static_cast<size_t>(kBlockRows) * static_cast<size_t>(panel.columns));
    const Matmul& product = last ? *products[p].last : *products[p].whole;
    product.run(worker, input + static_cast<size_t>(block.row) * row_bytes, packed_.data() + panel.offset,
                block.values);
    if (type_ == ProductType::kInt8) finish_int8(machine, panel, block);
    epilogue(block);
  });
}

template void Linear::run(Machine&, const float*, int64_t, const std::function<void(const ProductBlock&)>&,
                          PanelRange) const;
template void Linear::run(Machine&, const Bf16*, int64_t, const std::function<void(const ProductBlock&)>&,
                          PanelRange) const;

}  // namespace d3::cpu
