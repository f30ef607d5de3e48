#include "cpu/vision_tower.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace d3::cpu {
namespace {

constexpr float kNormEps = 1e-6F;
// Products and attention may read this many rows beyond the last one.
constexpr int64_t kPaddingRows = 128;
// Rows an element-wise work item handles.
constexpr int64_t kRowsPerItem = 16;

int table_side(const checkpoint::VisionConfig& config) {
  return static_cast<int>(std::lround(std::sqrt(config.num_position_embeddings)));
}

}  // namespace

template <typename T>
VisionTower<T>::VisionTower(Machine& machine, const checkpoint::Checkpoint& checkpoint, ProductType type,
                            const std::function<void(double)>& on_progress)
    : machine_(machine),
      config_(*checkpoint.config().vision),
      head_dim_(config_.hidden_size / config_.num_heads),
      weights_(pack_vision_weights(machine, checkpoint, type, on_progress)),
      attention_(
          {.heads = config_.num_heads, .kv_heads = config_.num_heads, .head_dim = head_dim_, .causal = false},
          attends_in_float16(machine.kernels, type)),
      places_(table_side(config_), head_dim_),
      levels_(level_values<T>()) {}

template <typename T>
std::vector<model::MediaFeatures> VisionTower<T>::encode(std::span<const media::Pixels* const> media) {
  std::vector<VisionFrame> frames = vision_frames(media);
  std::vector<model::MediaFeatures> results(media.size());
  for (size_t first = 0; first < frames.size();) {
    size_t end = first;
    int64_t rows = 0;
    for (; end < frames.size() && (end == first || rows + frames[end].patches() <= kPassPatches); ++end)
      rows += frames[end].patches();
    const std::span<VisionFrame> pass = std::span(frames).subspan(first, end - first);
    run_pass(pass);
    for (const VisionFrame& frame : pass) {
      const float* features = features_.data() + frame.first / kMergedPatches * config_.out_hidden_size;
      model::MediaFeatures& result = results[frame.medium];
      result.insert(result.end(), features, features + frame.tokens() * config_.out_hidden_size);
    }
    patches_encoded_ += static_cast<uint64_t>(rows);
    first = end;
  }
  media_encoded_ += media.size();
  return results;
}

template <typename T>
void VisionTower<T>::run_pass(std::span<VisionFrame> frames) {
  int64_t rows = 0;
  for (VisionFrame& frame : frames) {
    frame.first = rows;
    rows += frame.patches();
  }
  reserve(rows);
  places_.place(frames);
  embed(frames, rows);
  for (size_t i = 0; i < weights_.blocks.size(); ++i) {
    block(weights_.blocks[i], frames, rows);
    if (observer_)
      observer_("visual.blocks." + std::to_string(i),
                {hidden_.data(), static_cast<size_t>(rows * config_.hidden_size)});
  }
  merge(rows);
}

template <typename T>
void VisionTower<T>::embed(std::span<const VisionFrame> frames, int64_t rows) {
  for (const VisionFrame& frame : frames)
    machine_.pool.parallel_for(static_cast<size_t>(frame.rows / kMergeSide), [&](size_t block_row, int) {
      const int64_t row = frame.first + static_cast<int64_t>(block_row) * kMergeSide * frame.columns;
      write_patches(frame, static_cast<int>(block_row), levels_, wide_.data() + row * kPatchValues);
    });
  weights_.patch_embed.linear.run(machine_, wide_.data(), rows, [&](const ProductBlock& block) {
    for (int row = 0; row < block.rows; ++row) {
      const int64_t at = block.row + row;
      float* hidden = hidden_.data() + at * config_.hidden_size + block.index;
      machine_.kernels.f32.store_bias(block.values + static_cast<ptrdiff_t>(row) * block.columns,
                                      weights_.patch_embed.bias.data() + block.index, block.columns, hidden);
      const TablePlace& place = places_.table(at);
      const float* entries[4];
      for (size_t i = 0; i < 4; ++i)
        entries[i] = weights_.pos_embed.data() + static_cast<ptrdiff_t>(place.rows[i]) * config_.hidden_size +
                     block.index;
      machine_.kernels.add_weighted(entries, place.weights.data(), block.columns, hidden);
    }
  });
}

template <typename T>
void VisionTower<T>::block(const VisionBlockWeights& weights, std::span<const VisionFrame> frames,
                           int64_t rows) {
  norm(weights.norm1, rows);
  attention(weights, frames, rows);
  norm(weights.norm2, rows);
  weights.linear_fc1.linear.run(machine_, normed_.data(), rows, [&](const ProductBlock& block) {
    for (int row = 0; row < block.rows; ++row)
      kernels().bias_gelu_tanh(block.values + static_cast<ptrdiff_t>(row) * block.columns,
                               weights.linear_fc1.bias.data() + block.index, block.columns,
                               wide_.data() + (block.row + row) * config_.intermediate_size + block.index);
  });
  add_product(weights.linear_fc2, wide_.data(), rows);
}

template <typename T>
void VisionTower<T>::attention(const VisionBlockWeights& weights, std::span<const VisionFrame> frames,
                               int64_t rows) {
  weights.qkv.linear.run(machine_, normed_.data(), rows,
                         [&](const ProductBlock& block) { finish_heads(weights.qkv.bias, block, rows); });
  std::vector<AttentionSequence> sequences;
  for (const VisionFrame& frame : frames)
    sequences.push_back({frame.first, frame.patches(), frame.first, frame.patches(), 0});
  attention_.run(machine_,
                 {.q = query_.data(),
                  .k = key_.data(),
                  .v = value_.data(),
                  .gate = nullptr,
                  .out = mixed_.data(),
                  .query_rows = rows,
                  .key_rows = rows},
                 sequences);
  add_product(weights.proj, mixed_.data(), rows);
}

template <typename T>
void VisionTower<T>::finish_heads(const std::vector<float>& bias, const ProductBlock& block, int64_t rows) {
  const float query_scale = 1.0F / std::sqrt(static_cast<float>(head_dim_));
  for (int column = 0; column < block.columns; column += head_dim_) {
    const int head = (block.index + column) / head_dim_;
    const int part = head / config_.num_heads;  // queries, keys, values
    Workspace<T>& to = part == 0 ? query_ : part == 1 ? key_ : value_;
    T* out = to.data() + (head % config_.num_heads * rows + block.row) * head_dim_;
    const float* head_bias = bias.data() + block.index + column;
    for (int row = 0; row < block.rows; ++row, out += head_dim_) {
      const float* values = block.values + static_cast<ptrdiff_t>(row) * block.columns + column;
      if (part == 2) {
        kernels().store_bias(values, head_bias, head_dim_, out);
        continue;
      }
      const RotaryAngles turn = places_.angles(block.row + row);
      kernels().bias_rotary(values, head_bias, head_dim_, turn.cos, turn.sin, part == 0 ? query_scale : 1.0F,
                            out);
    }
  }
}

template <typename T>
void VisionTower<T>::merge(int64_t rows) {
  norm(weights_.merger_norm, rows);
  const int64_t tokens = rows / kMergedPatches;
  const int64_t width = static_cast<int64_t>(kMergedPatches) * config_.hidden_size;
  const BiasedLinear& fc1 = weights_.merger_linear_fc1;
  fc1.linear.run(machine_, normed_.data(), tokens, [&](const ProductBlock& block) {
    for (int row = 0; row < block.rows; ++row)
      kernels().bias_gelu(block.values + static_cast<ptrdiff_t>(row) * block.columns,
                          fc1.bias.data() + block.index, block.columns,
                          wide_.data() + (block.row + row) * width + block.index);
  });
  const BiasedLinear& fc2 = weights_.merger_linear_fc2;
  fc2.linear.run(machine_, wide_.data(), tokens, [&](const ProductBlock& block) {
    for (int row = 0; row < block.rows; ++row)
      machine_.kernels.f32.store_bias(
          block.values + static_cast<ptrdiff_t>(row) * block.columns, fc2.bias.data() + block.index,
          block.columns, features_.data() + (block.row + row) * config_.out_hidden_size + block.index);
  });
  if (observer_)
    observer_("visual.merger", {features_.data(), static_cast<size_t>(tokens * config_.out_hidden_size)});
}

template <typename T>
void VisionTower<T>::norm(const LayerNormWeights& weights, int64_t rows) {
  const int n = config_.hidden_size;
  machine_.pool.parallel_for(
      static_cast<size_t>((rows + kRowsPerItem - 1) / kRowsPerItem), [&](size_t item, int) {
        const int64_t first = static_cast<int64_t>(item) * kRowsPerItem;
        for (int64_t row = first; row < std::min(first + kRowsPerItem, rows); ++row)
          kernels().layer_norm(hidden_.data() + row * n, weights.weight.data(), weights.bias.data(), n,
                               kNormEps, normed_.data() + row * n);
      });
}

template <typename T>
void VisionTower<T>::add_product(const BiasedLinear& product, const T* input, int64_t rows) {
  product.linear.run(machine_, input, rows, [&](const ProductBlock& block) {
    for (int row = 0; row < block.rows; ++row)
      machine_.kernels.add_bias(block.values + static_cast<ptrdiff_t>(row) * block.columns,
                                product.bias.data() + block.index, block.columns,
                                hidden_.data() + (block.row + row) * config_.hidden_size + block.index);
  });
}

template <typename T>
void VisionTower<T>::reserve(int64_t rows) {
  // The merger's rows are four patches wide, and as many of them are read beyond the end.
  const auto padded = static_cast<size_t>(rows + kPaddingRows * kMergedPatches);
  const auto hidden = static_cast<size_t>(config_.hidden_size);
  hidden_.reserve(static_cast<size_t>(rows) * hidden);
  normed_.reserve(padded * hidden);
  query_.reserve(padded * hidden);
  key_.reserve(padded * hidden);
  value_.reserve(padded * hidden);
  mixed_.reserve(padded * hidden);
  wide_.reserve(padded *
                std::max({hidden, static_cast<size_t>(config_.intermediate_size), size_t{kPatchValues}}));
  features_.reserve(static_cast<size_t>(rows / kMergedPatches * config_.out_hidden_size));
}

template class VisionTower<float>;
template class VisionTower<Bf16>;

}  // namespace d3::cpu
