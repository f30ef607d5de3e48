#include "cpu/linear.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "cpu/weight_rows.h"

namespace d3::cpu {
namespace {

// Rows of activations one work item multiplies: with 256 columns of weights (1 MiB at 2,048 inputs) they and
// the block stay in a 2 MiB L2 cache.
constexpr int kBlockRows = 128;
// The same for kWidened, whose tiles have 12 or 6 rows and whose working set is a slice of 256 inputs: more
// rows share the work of widening.
constexpr int kWidenedBlockRows = 264;

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

}  // namespace

bool reads_in_place(ProductType type, const checkpoint::TensorView& weight) {
  return type == ProductType::kWidened && weight.dtype == checkpoint::Dtype::kBfloat16 &&
         reinterpret_cast<uintptr_t>(weight.data.data()) % alignof(Bf16) == 0;
}

Linear::Linear(Machine& machine, ProductType type, std::span<const PanelSpec> panels) : type_(type) {
  in_features_ = static_cast<int>(panels.front().parts.front().weight->shape[1]);
  size_t columns = 0;
  for (const PanelSpec& spec : panels) {
    Panel panel{.role = spec.role, .index = spec.index, .columns = 0, .offset = 0, .column_offset = columns};
    for (const WeightRows& part : spec.parts) panel.columns += part.rows;
    columns += round_up(static_cast<size_t>(panel.columns), 16);
    panels_.push_back(panel);
  }
  if (type == ProductType::kInt8) {
    column_scale_.resize(columns);
    column_offset_.resize(columns);
  }
  if (type == ProductType::kWidened) {
    weight_rows_.resize(columns);
    refer_to_rows(machine, panels);
  } else {
    pack(machine, panels);
  }
}

void Linear::pack(Machine& machine, std::span<const PanelSpec> specs) {
  size_t bytes = 0;
  for (Panel& panel : panels_) {
    panel.offset = bytes;
    bytes += round_up(machine.products.packed_bytes(type_, in_features_, panel.columns), 64);
  }
  packed_ = AlignedBuffer(bytes);
  machine.pool.parallel_for(specs.size(), [&](size_t i, int) { pack_panel(machine, specs[i], panels_[i]); });
}

void Linear::refer_to_rows(Machine& machine, std::span<const PanelSpec> specs) {
  const auto k = static_cast<size_t>(in_features_);
  size_t copied_rows = 0;
  for (const PanelSpec& spec : specs)
    for (const WeightRows& part : spec.parts)
      if (!reads_in_place(type_, *part.weight)) copied_rows += static_cast<size_t>(part.rows);
  packed_ = AlignedBuffer(copied_rows * k * sizeof(Bf16));
  auto* copy = reinterpret_cast<Bf16*>(packed_.data());
  std::vector<float> values(k);
  for (size_t i = 0; i < specs.size(); ++i) {
    const Bf16** to = weight_rows_.data() + panels_[i].column_offset;
    for (const WeightRows& part : specs[i].parts) {
      for (int row = part.first_row; row < part.first_row + part.rows; ++row) {
        const int64_t first = static_cast<int64_t>(row) * in_features_;
        if (reads_in_place(type_, *part.weight)) {
          *to++ = reinterpret_cast<const Bf16*>(part.weight->data.data()) + first;
          continue;
        }
        read_floats(*part.weight, first, in_features_, values.data());
        machine.kernels.bf16.store(values.data(), in_features_, copy);
        *to++ = copy;
        copy += k;
      }
    }
  }
}

void Linear::pack_panel(Machine& machine, const PanelSpec& spec, const Panel& panel) {
  const auto k = static_cast<size_t>(in_features_);
  const size_t element = weight_size(type_);
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
        case ProductType::kWidened:
          break;
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

void Linear::tile_input(Machine& machine, const float* x, int64_t rows) const {
  const WidenedKernels& kernels = machine.kernels.widened;
  const int64_t tiles = (rows + kernels.tile_rows - 1) / kernels.tile_rows;
  float* to = machine.tiles.reserve(static_cast<size_t>(tiles * kernels.tile_rows * in_features_));
  machine.pool.parallel_for(static_cast<size_t>(tiles), [&](size_t item, int) {
    const int64_t first = static_cast<int64_t>(item) * kernels.tile_rows;
    kernels.pack_tile(x + first * in_features_,
                      static_cast<int>(std::min<int64_t>(kernels.tile_rows, rows - first)), in_features_,
                      to + first * in_features_);
  });
}

template <typename T>
const std::byte* Linear::prepare_input(Machine& machine, const T* x, int64_t rows) const {
  if (type_ == ProductType::kInt8) {
    quantize_input(machine, x, rows);
    return reinterpret_cast<const std::byte*>(machine.quantized_rows.data());
  }
  if constexpr (std::is_same_v<T, float>) {
    if (type_ == ProductType::kWidened) {
      tile_input(machine, x, rows);
      return reinterpret_cast<const std::byte*>(machine.tiles.data());
    }
  }
  return reinterpret_cast<const std::byte*>(x);
}

struct Linear::Plan {
  struct Products {
    const Matmul* whole = nullptr;
    const Matmul* last = nullptr;
  };
  int block_rows = 0;
  int last_rows = 0;  // of the last block
  size_t blocks = 0;
  std::vector<Products> products;  // by panel; none for kWidened
};

Linear::Plan Linear::plan(Machine& machine, std::span<const Panel> panels, int64_t rows) const {
  Plan plan;
  plan.block_rows = type_ == ProductType::kWidened ? kWidenedBlockRows : kBlockRows;
  plan.blocks = static_cast<size_t>((rows + plan.block_rows - 1) / plan.block_rows);
  plan.last_rows = static_cast<int>(rows - static_cast<int64_t>(plan.blocks - 1) * plan.block_rows);
  if (type_ == ProductType::kWidened) return plan;
  for (const Panel& panel : panels) {
    MatmulShape shape{type_, plan.block_rows, in_features_, panel.columns, false};
    Plan::Products& products = plan.products.emplace_back();
    if (plan.blocks > 1) products.whole = &machine.products.get(shape);
    shape.m = MatmulCache::bucket_rows(plan.last_rows);
    products.last = &machine.products.get(shape);
  }
  return plan;
}

/// `product`: none for kWidened.
void Linear::multiply(Machine& machine, const Panel& panel, const std::byte* input, const ProductBlock& block,
                      const Matmul* product) const {
  const ProductTimer timer(machine.part_clock, block.worker);
  const auto first = static_cast<size_t>(block.row) * static_cast<size_t>(in_features_);
  if (product)  // its two sides have elements of one size
    product->run(block.worker, input + first * weight_size(type_), packed_.data() + panel.offset,
                 block.values);
  else
    machine.kernels.widened.product(reinterpret_cast<const float*>(input) + first, block.rows,
                                    weight_rows_.data() + panel.column_offset, in_features_, panel.columns,
                                    block.values);
}

template <typename T>
void Linear::run(Machine& machine, const T* x, int64_t rows,
                 const std::function<void(const ProductBlock&)>& epilogue, PanelRange range) const {
  if (rows == 0) return;
  const auto panels =
      std::span(panels_).subspan(range.first, std::min(range.end, panels_.size()) - range.first);
  const std::byte* input = prepare_input(machine, x, rows);
  const Plan plan = this->plan(machine, panels, rows);
  machine.pool.parallel_for(panels.size() * plan.blocks, [&](size_t item, int worker) {
    const size_t p = item / plan.blocks;
    const size_t b = item % plan.blocks;
    const Panel& panel = panels[p];
    const bool last = b + 1 == plan.blocks;
    ProductBlock block{.role = panel.role,
                       .index = panel.index,
                       .row = static_cast<int64_t>(b) * plan.block_rows,
                       .rows = last ? plan.last_rows : plan.block_rows,
                       .columns = panel.columns,
                       .values = nullptr,
                       .worker = worker};
    block.values = machine.scratch[static_cast<size_t>(worker)].block.reserve(
        static_cast<size_t>(plan.block_rows) * static_cast<size_t>(panel.columns));
    multiply(machine, panel, input, block,
             plan.products.empty() ? nullptr
             : last                ? plan.products[p].last
                                   : plan.products[p].whole);
    if (type_ == ProductType::kInt8) finish_int8(machine, panel, block);
    epilogue(block);
  });
}

template void Linear::run(Machine&, const float*, int64_t, const std::function<void(const ProductBlock&)>&,
                          PanelRange) const;
template void Linear::run(Machine&, const Bf16*, int64_t, const std::function<void(const ProductBlock&)>&,
                          PanelRange) const;

}  // namespace d3::cpu
