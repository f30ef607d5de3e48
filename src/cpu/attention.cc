#include "cpu/attention.h"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace d3::cpu {
namespace {

// A tile's scores (128 x 512 fp32), numerators, output and the packed block of keys or values stay in a 2 MiB
// L2 cache.
constexpr int kTileRows = 128;
constexpr int kKeyBlock = 512;
constexpr int kKeyStep = 64;  // blocks are padded to a multiple of this, so that few products exist

template <typename T>
constexpr ProductType product_type() {
  return std::is_same_v<T, float> ? ProductType::kFloat32 : ProductType::kBfloat16;
}

size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

void multiply(Machine& machine, const Matmul& product, int worker, const void* a, const std::byte* b,
              float* c) {
  const ProductTimer timer(machine.part_clock, worker);
  product.run(worker, a, b, c);
}

}  // namespace

template <typename T>
void Attention<T>::plan(Machine& machine, std::span<const AttentionSequence> sequences) {
  const int group = shape_.heads / shape_.kv_heads;
  const int tile_queries = std::max(1, kTileRows / group);
  tiles_.clear();
  blocks_.clear();
  first_block_.clear();
  size_t bytes = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    for (int head = 0; head < shape_.kv_heads; ++head) {
      first_block_.push_back(blocks_.size());
      for (int64_t key = 0; key < sequences[s].keys; key += kKeyBlock) {
        KeyBlock block{.sequence = s,
                       .kv_head = head,
                       .first_key = key,
                       .keys = 0,
                       .padded_keys = 0,
                       .key_offset = 0,
                       .value_offset = 0};
        block.keys = static_cast<int>(std::min<int64_t>(kKeyBlock, sequences[s].keys - key));
        block.padded_keys = static_cast<int>(round_up(static_cast<size_t>(block.keys), kKeyStep));
        block.key_offset = bytes;
        bytes += round_up(
            machine.products.packed_bytes(product_type<T>(), shape_.head_dim, block.padded_keys), 64);
        block.value_offset = bytes;
        bytes += round_up(
            machine.products.packed_bytes(product_type<T>(), block.padded_keys, shape_.head_dim), 64);
        blocks_.push_back(block);
      }
      for (int64_t query = 0; query < sequences[s].queries; query += tile_queries)
        tiles_.push_back({s, head, query,
                          static_cast<int>(std::min<int64_t>(tile_queries, sequences[s].queries - query))});
    }
  }
  first_block_.push_back(blocks_.size());
  packed_.reserve(bytes);
  // Later tiles see more keys when causal: longest first keeps the workers even at the end.
  if (shape_.causal) std::reverse(tiles_.begin(), tiles_.end());
}

template <typename T>
void Attention<T>::pack_block(Machine& machine, const AttentionRows<T>& rows,
                              const AttentionSequence& sequence, const KeyBlock& block) {
  const int64_t first =
      (block.kv_head * rows.key_rows + sequence.first_key + block.first_key) * shape_.head_dim;
  machine.products.pack(product_type<T>(), shape_.head_dim, block.padded_keys, true, shape_.head_dim,
                        rows.k + first, packed_.data() + block.key_offset);
  machine.products.pack(product_type<T>(), block.padded_keys, shape_.head_dim, false, shape_.head_dim,
                        rows.v + first, packed_.data() + block.value_offset);
}

template <typename T>
void Attention<T>::run_tile(Machine& machine, const AttentionRows<T>& rows, const AttentionSequence& sequence,
                            const Tile& tile, int worker) {
  const auto& kernels = machine.kernels.typed<T>();
  const int dim = shape_.head_dim;
  const int group = shape_.heads / shape_.kv_heads;
  const int tile_rows = tile.queries * group;
  const int padded_rows = MatmulCache::bucket_rows(tile_rows);
  WorkerScratch& scratch = machine.scratch[static_cast<size_t>(worker)];
  float* scores = scratch.block.reserve(static_cast<size_t>(padded_rows) * kKeyBlock);
  float* out = scratch.values.reserve(static_cast<size_t>(padded_rows) * static_cast<size_t>(dim + 2));
  float* running_max = out + static_cast<ptrdiff_t>(padded_rows) * dim;
  float* running_sum = running_max + padded_rows;
  auto* numerators =
      reinterpret_cast<T*>(scratch.bytes.reserve(static_cast<size_t>(padded_rows) * kKeyBlock * sizeof(T)));
  std::fill_n(running_max, tile_rows, -std::numeric_limits<float>::infinity());
  std::fill_n(running_sum, tile_rows, 0.0F);

  const int64_t first_row = sequence.first_query + tile.first_query;
  const T* q = rows.q + (tile.kv_head * rows.query_rows + first_row) * group * dim;
  const int64_t first_position = sequence.first_position + tile.first_query;
  const int64_t visible =
      shape_.causal ? std::min(sequence.keys, first_position + tile.queries) : sequence.keys;
  const size_t list =
      tile.sequence * static_cast<size_t>(shape_.kv_heads) + static_cast<size_t>(tile.kv_head);
  for (size_t b = first_block_[list]; b < first_block_[list + 1] && blocks_[b].first_key < visible; ++b) {
    const KeyBlock& block = blocks_[b];
    const Matmul& scores_product =
        machine.products.find({product_type<T>(), padded_rows, dim, block.padded_keys, false});
    multiply(machine, scores_product, worker, q, packed_.data() + block.key_offset, scores);
    for (int row = 0; row < tile_rows; ++row) {
      int64_t valid = block.keys;
      if (shape_.causal)
        valid = std::clamp<int64_t>(first_position + row / group + 1 - block.first_key, 0, block.keys);
      const ptrdiff_t at = static_cast<ptrdiff_t>(row) * block.padded_keys;
      const float factor = kernels.softmax_block(scores + at, static_cast<int>(valid), block.padded_keys,
                                                 running_max + row, running_sum + row, numerators + at);
      if (block.first_key > 0 && factor != 1.0F)
        machine.kernels.scale(factor, dim, out + static_cast<ptrdiff_t>(row) * dim);
    }
    const Matmul& values_product =
        machine.products.find({product_type<T>(), padded_rows, block.padded_keys, dim, block.first_key > 0});
    multiply(machine, values_product, worker, numerators, packed_.data() + block.value_offset, out);
  }
  for (int row = 0; row < tile_rows; ++row) {
    const int64_t at = ((first_row + row / group) * shape_.heads + tile.kv_head * group + row % group) * dim;
    const float* row_out = out + static_cast<ptrdiff_t>(row) * dim;
    const float factor = 1.0F / running_sum[row];
    if (rows.gate) {
      kernels.scale_gate(row_out, factor, rows.gate + at, dim, rows.out + at);
    } else {
      machine.kernels.scale(factor, dim, out + static_cast<ptrdiff_t>(row) * dim);
      kernels.store(row_out, dim, rows.out + at);
    }
  }
}

template <typename T>
void Attention<T>::run(Machine& machine, const AttentionRows<T>& rows,
                       std::span<const AttentionSequence> sequences) {
  plan(machine, sequences);
  machine.pool.parallel_for(blocks_.size(), [&](size_t i, int) {
    pack_block(machine, rows, sequences[blocks_[i].sequence], blocks_[i]);
  });
  // Workers only look products up; the shapes are made here.
  const int group = shape_.heads / shape_.kv_heads;
  for (const Tile& tile : tiles_) {
    const int padded_rows = MatmulCache::bucket_rows(tile.queries * group);
    const size_t list =
        tile.sequence * static_cast<size_t>(shape_.kv_heads) + static_cast<size_t>(tile.kv_head);
    for (size_t b = first_block_[list]; b < first_block_[list + 1]; ++b) {
      machine.products.get({product_type<T>(), padded_rows, shape_.head_dim, blocks_[b].padded_keys, false});
      machine.products.get({product_type<T>(), padded_rows, blocks_[b].padded_keys, shape_.head_dim,
                            blocks_[b].first_key > 0});
    }
  }
  machine.pool.parallel_for(tiles_.size(), [&](size_t i, int worker) {
    run_tile(machine, rows, sequences[tiles_[i].sequence], tiles_[i], worker);
  });
}

template class Attention<float>;
template class Attention<Bf16>;

}  // namespace d3::cpu
