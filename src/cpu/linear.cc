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
// The same, at most, for our own kernels, whose working set is a slice of some 200 inputs: more rows share
// the work of widening or reading the weights.
constexpr int kTiledBlockRows = 264;

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

/// The kernels of a type whose weights they pack; none for the other types.
const PackedKernels* packed_kernels(const KernelTable& kernels, ProductType type) {
  if (type == ProductType::kFloat16) return &kernels.float16;
  if (type == ProductType::kGroupedInt8) return &kernels.int8;
  return nullptr;
}

/// Types whose kernels read weights where they are.
bool refers_to_weights(ProductType type) {
  return type == ProductType::kWidened || type == ProductType::kFloat32;
}

/// How our own kernels cut rows into tiles; tile_rows is 0 for oneDNN's types.
struct Tiling {
  int tile_rows = 0;
  size_t tile_words = 0;
  void (*pack_tile)(const float* x, int rows, int k, uint32_t* tile) = nullptr;

  Tiling(const KernelTable& kernels, ProductType type, int k) {
    const auto use = [&](const auto& chosen) {
      tile_rows = chosen.tile_rows;
      tile_words = chosen.tile_words(k);
      pack_tile = chosen.pack_tile;
    };
    if (refers_to_weights(type)) use(kernels.widened);
    if (const PackedKernels* packed = packed_kernels(kernels, type)) use(*packed);
  }
};

/// Whether a weight's data can be read as values of that type where it is.
template <typename Weight>
bool holds(const checkpoint::TensorView& weight) {
  constexpr auto dtype =
      std::is_same_v<Weight, Bf16> ? checkpoint::Dtype::kBfloat16 : checkpoint::Dtype::kFloat32;
  return weight.dtype == dtype && reinterpret_cast<uintptr_t>(weight.data.data()) % alignof(Weight) == 0;
}

/// How many of a panel's columns must be copied to be read as values of that type.
template <typename Weight>
size_t copied_columns(const PanelSpec& spec) {
  size_t count = 0;
  for (const WeightRows& part : spec.parts)
    if (!holds<Weight>(*part.weight)) count += static_cast<size_t>(part.rows);
  return count;
}

/// Points columns[i] at the k values of a panel's column i; writes those of copied_columns to `copies`.
template <typename Weight>
void point_at_columns(const KernelTable& kernels, const PanelSpec& spec, int k, const Weight** columns,
                      Weight* copies) {
  std::vector<float> values(static_cast<size_t>(k));
  for (const WeightRows& part : spec.parts) {
    const bool in_place = holds<Weight>(*part.weight);
    for (int row = part.first_row; row < part.first_row + part.rows; ++row) {
      const int64_t first = static_cast<int64_t>(row) * k;
      if (in_place) {
        *columns++ = reinterpret_cast<const Weight*>(part.weight->data.data()) + first;
        continue;
      }
      read_floats(*part.weight, first, k, values.data());
      kernels.typed<Weight>().store(values.data(), k, copies);
      *columns++ = copies;
      copies += k;
    }
  }
}

/// Whether a panel's weights are read as fp32: for kFloat32, where not all of them are bf16.
bool reads_float32(ProductType type, const PanelSpec& spec) {
  return type == ProductType::kFloat32 && copied_columns<Bf16>(spec) > 0;
}

}  // namespace

bool reads_in_place(ProductType type, const checkpoint::TensorView& weight) {
  return refers_to_weights(type) &&
         (holds<Bf16>(weight) || (type == ProductType::kFloat32 && holds<float>(weight)));
}

Linear::Linear(Machine& machine, ProductType type, std::span<const PanelSpec> panels) : type_(type) {
  in_features_ = static_cast<int>(panels.front().parts.front().weight->shape[1]);
  size_t columns = 0;
  for (const PanelSpec& spec : panels) {
    Panel panel{.role = spec.role, .index = spec.index, .column_offset = columns};
    for (const WeightRows& part : spec.parts) panel.columns += part.rows;
    columns += round_up(static_cast<size_t>(panel.columns), 16);
    panels_.push_back(panel);
  }
  if (type == ProductType::kInt8) {
    column_scale_.resize(columns);
    column_offset_.resize(columns);
  }
  if (refers_to_weights(type))
    refer_to_weights(machine, panels, columns);
  else
    pack(machine, panels);
}

void Linear::pack(Machine& machine, std::span<const PanelSpec> specs) {
  const PackedKernels* kernels = packed_kernels(machine.kernels, type_);
  size_t bytes = 0;
  for (Panel& panel : panels_) {
    panel.offset = bytes;
    bytes += round_up(kernels ? kernels->packed_bytes(in_features_, panel.columns)
                              : machine.products.packed_bytes(type_, in_features_, panel.columns),
                      64);
  }
  packed_ = AlignedBuffer(bytes);
  machine.pool.parallel_for(specs.size(), [&](size_t i, int) {
    if (kernels)
      pack_columns(machine, specs[i], panels_[i]);
    else
      pack_panel(machine, specs[i], panels_[i]);
  });
}

void Linear::refer_to_weights(Machine& machine, std::span<const PanelSpec> specs, size_t columns) {
  const auto k = static_cast<size_t>(in_features_);
  size_t bytes = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    panels_[i].float32 = reads_float32(type_, specs[i]);
    panels_[i].offset = bytes;
    bytes += round_up(panels_[i].float32 ? copied_columns<float>(specs[i]) * k * sizeof(float)
                                         : copied_columns<Bf16>(specs[i]) * k * sizeof(Bf16),
                      64);
  }
  packed_ = AlignedBuffer(bytes);
  bf16_columns_.resize(columns);
  float32_columns_.resize(columns);
  for (size_t i = 0; i < specs.size(); ++i) {
    const Panel& panel = panels_[i];
    std::byte* copies = packed_.data() + panel.offset;
    if (panel.float32)
      point_at_columns(machine.kernels, specs[i], in_features_, float32_columns_.data() + panel.column_offset,
                       reinterpret_cast<float*>(copies));
    else
      point_at_columns(machine.kernels, specs[i], in_features_, bf16_columns_.data() + panel.column_offset,
                       reinterpret_cast<Bf16*>(copies));
  }
}

void Linear::pack_columns(Machine& machine, const PanelSpec& spec, const Panel& panel) {
  std::vector<Bf16> copies(copied_columns<Bf16>(spec) * static_cast<size_t>(in_features_));
  std::vector<const Bf16*> columns(static_cast<size_t>(panel.columns));
  point_at_columns(machine.kernels, spec, in_features_, columns.data(), copies.data());
  packed_kernels(machine.kernels, type_)
      ->pack_columns(columns.data(), in_features_, panel.columns, packed_.data() + panel.offset);
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
        case ProductType::kFloat32:
        case ProductType::kWidened:
        case ProductType::kFloat16:
        case ProductType::kGroupedInt8:
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
  float* scales = machine.row_scales.reserve(static_cast<size_t>(rows));
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
        column_offset_.data() + panel.column_offset, machine.row_scales.data()[block.row + row],
        column_scale_.data() + panel.column_offset, block.columns);
}

/// How rows are cut into blocks, which work items multiply, and blocks into tiles; and the products of the
/// panels that run.
struct Linear::Plan {
  struct Products {
    const Matmul* whole = nullptr;
    const Matmul* last = nullptr;
  };
  Tiling tiling;
  int64_t rows = 0;
  int64_t blocks = 0;
  int block_rows = 0;  // the most that a block has
  std::span<const Panel> panels;
  std::vector<Products> products = {};  // by panel; none with tiles

  // Blocks of tiles are of nearly equal size, others of block_rows but for the last.
  int64_t first(int64_t block) const {
    return tiling.tile_rows > 0 ? block * rows / blocks : std::min(block * block_rows, rows);
  }
  int rows_of(int64_t block) const { return static_cast<int>(first(block + 1) - first(block)); }
  TileRows tiles(int64_t block) const { return TileRows::of(rows_of(block), tiling.tile_rows); }
  // Tiles that a block has room for, and where they begin.
  size_t tile_slots() const { return static_cast<size_t>(TileRows::of(block_rows, tiling.tile_rows).tiles); }
  size_t tile_offset(int64_t block) const {
    return static_cast<size_t>(block) * tile_slots() * tiling.tile_words;
  }
};

Linear::Plan Linear::plan(Machine& machine, std::span<const Panel> panels, int64_t rows) const {
  Plan plan{.tiling = Tiling(machine.kernels, type_, in_features_), .rows = rows, .panels = panels};
  if (plan.tiling.tile_rows > 0) {
    plan.blocks = (rows + kTiledBlockRows - 1) / kTiledBlockRows;
    plan.block_rows = static_cast<int>((rows + plan.blocks - 1) / plan.blocks);
    return plan;
  }
  plan.block_rows = kBlockRows;
  plan.blocks = (rows + kBlockRows - 1) / kBlockRows;
  for (const Panel& panel : panels) {
    MatmulShape shape{type_, plan.block_rows, in_features_, panel.columns, false};
    Plan::Products& products = plan.products.emplace_back();
    if (plan.blocks > 1) products.whole = &machine.products.get(shape);
    shape.m = MatmulCache::bucket_rows(plan.rows_of(plan.blocks - 1));
    products.last = &machine.products.get(shape);
  }
  return plan;
}

void Linear::tile_input(Machine& machine, const float* x, const Plan& plan) const {
  const size_t slots = plan.tile_slots();
  uint32_t* words = machine.tiles.reserve(plan.tile_offset(plan.blocks));
  machine.pool.parallel_for(static_cast<size_t>(plan.blocks) * slots, [&](size_t slot, int) {
    const auto block = static_cast<int64_t>(slot / slots);
    const int tile = static_cast<int>(slot % slots);
    const TileRows tiles = plan.tiles(block);
    if (tile >= tiles.tiles) return;
    plan.tiling.pack_tile(x + (plan.first(block) + tiles.first(tile)) * in_features_, tiles.height(tile),
                          in_features_, words + slot * plan.tiling.tile_words);
  });
}

template <typename T>
const std::byte* Linear::prepare_input(Machine& machine, const T* x, const Plan& plan) const {
  if (type_ == ProductType::kInt8) {
    quantize_input(machine, x, plan.rows);
    return reinterpret_cast<const std::byte*>(machine.quantized_rows.data());
  }
  if constexpr (std::is_same_v<T, float>) {
    if (plan.tiling.tile_rows > 0) {
      tile_input(machine, x, plan);
      return reinterpret_cast<const std::byte*>(machine.tiles.data());
    }
  }
  return reinterpret_cast<const std::byte*>(x);
}

void Linear::multiply(Machine& machine, const Plan& plan, size_t item, const std::byte* input,
                      const ProductBlock& block) const {
  const ProductTimer timer(machine.part_clock, block.worker);
  const size_t p = item / static_cast<size_t>(plan.blocks);
  const auto b = static_cast<int64_t>(item % static_cast<size_t>(plan.blocks));
  const Panel& panel = plan.panels[p];
  if (plan.tiling.tile_rows == 0) {
    const Matmul* product = b + 1 == plan.blocks ? plan.products[p].last : plan.products[p].whole;
    const auto first = static_cast<size_t>(block.row) * static_cast<size_t>(in_features_);
    // Its two sides have elements of one size.
    product->run(block.worker, input + first * weight_size(type_), packed_.data() + panel.offset,
                 block.values);
    return;
  }
  const auto* tiles = reinterpret_cast<const uint32_t*>(input) + plan.tile_offset(b);
  if (const PackedKernels* kernels = packed_kernels(machine.kernels, type_))
    kernels->product(tiles, plan.tiles(b), packed_.data() + panel.offset, in_features_, panel.columns, false,
                     block.values);
  else if (panel.float32)
    machine.kernels.widened.product_float32(tiles, plan.tiles(b),
                                            float32_columns_.data() + panel.column_offset, in_features_,
                                            panel.columns, block.values);
  else
    machine.kernels.widened.product(tiles, plan.tiles(b), bf16_columns_.data() + panel.column_offset,
                                    in_features_, panel.columns, block.values);
}

template <typename T>
void Linear::run(Machine& machine, const T* x, int64_t rows,
                 const std::function<void(const ProductBlock&)>& epilogue, PanelRange range) const {
  if (rows == 0) return;
  const auto panels =
      std::span(panels_).subspan(range.first, std::min(range.end, panels_.size()) - range.first);
  const Plan plan = this->plan(machine, panels, rows);
  const std::byte* input = prepare_input(machine, x, plan);
  const auto blocks = static_cast<size_t>(plan.blocks);
  machine.pool.parallel_for(panels.size() * blocks, [&](size_t item, int worker) {
    const auto b = static_cast<int64_t>(item % blocks);
    const Panel& panel = panels[item / blocks];
    ProductBlock block{.role = panel.role,
                       .index = panel.index,
                       .row = plan.first(b),
                       .rows = plan.rows_of(b),
                       .columns = panel.columns,
                       .values = nullptr,
                       .worker = worker};
    block.values = machine.scratch[static_cast<size_t>(worker)].block.reserve(
        static_cast<size_t>(plan.block_rows) * static_cast<size_t>(panel.columns));
    multiply(machine, plan, item, input, block);
    if (type_ == ProductType::kInt8) finish_int8(machine, panel, block);
    epilogue(block);
  });
}

template void Linear::run(Machine&, const float*, int64_t, const std::function<void(const ProductBlock&)>&,
                          PanelRange) const;
template void Linear::run(Machine&, const Bf16*, int64_t, const std::function<void(const ProductBlock&)>&,
                          PanelRange) const;

}  // namespace d3::cpu
