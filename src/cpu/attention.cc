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
constexpr int kKeyStep = 64;  // oneDNN's blocks are padded to a multiple of this, so that few products exist
constexpr int kFloat16TileRows = 132;  // whole tiles of the float16 kernels

template <typename T>
constexpr ProductType product_type() {
  return std::is_same_v<T, float> ? ProductType::kFloat32 : ProductType::kBfloat16;
}

size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

}  // namespace

bool attends_in_float16(const KernelTable& kernels, ProductType type) {
  return type == ProductType::kFloat16 ||
         (type == ProductType::kGroupedInt8 && has_float16_products(kernels));
}

/// The two products of a tile of queries with a block of keys and values, and their scratch memory.
template <typename T>
class Attention<T>::TileProducts {
 public:
  TileProducts(const Attention& attention, Machine& machine, int rows, int worker)
      : attention_(attention),
        machine_(machine),
        padded_rows_(attention.float16_ ? rows : MatmulCache::bucket_rows(rows)),
        worker_(worker) {
    const int dim = attention.shape_.head_dim;
    WorkerScratch& scratch = machine.scratch[static_cast<size_t>(worker)];
    const auto padded = static_cast<size_t>(padded_rows_);
    scores = scratch.block.reserve(padded * kKeyBlock);
    out = scratch.values.reserve(padded * static_cast<size_t>(dim + 2));
    running_max = out + static_cast<ptrdiff_t>(padded_rows_) * dim;
    running_sum = running_max + padded_rows_;
    if (!attention.float16_) {
      numerators = reinterpret_cast<T*>(scratch.bytes.reserve(padded * kKeyBlock * sizeof(T)));
      return;
    }
    const PackedKernels& kernels = machine.kernels.float16;
    tiles_ = TileRows::of(rows, kernels.tile_rows);
    const auto count = static_cast<size_t>(tiles_.tiles);
    query_tiles_ = reinterpret_cast<uint32_t*>(scratch.bytes.reserve(
        count * (kernels.tile_words(dim) + kernels.tile_words(kKeyBlock)) * sizeof(uint32_t)));
    numerator_tiles_ = query_tiles_ + count * kernels.tile_words(dim);
    numerators = reinterpret_cast<T*>(scores);  // T is float: softmax may work in place
  }

  /// q: rows of queries, for all blocks.
  void set_queries(const T* q) {
    queries_ = q;
    pack_tiles(q, attention_.shape_.head_dim, query_tiles_);
  }

  /// scores [rows, block.padded_keys]
  void multiply_keys(const KeyBlock& block) {
    const int dim = attention_.shape_.head_dim;
    const std::byte* keys = attention_.packed_.data() + block.key_offset;
    const ProductTimer timer(machine_.part_clock, worker_);
    if (attention_.float16_)
      machine_.kernels.float16.product(query_tiles_, tiles_, keys, dim, block.padded_keys, false, scores);
    else
      machine_.products.find({product_type<T>(), padded_rows_, dim, block.padded_keys, false})
          .run(worker_, queries_, keys, scores);
  }

  /// out [rows, head_dim] (+)= numerators [rows, block.padded_keys] x values
  void multiply_values(const KeyBlock& block) {
    const int dim = attention_.shape_.head_dim;
    const bool accumulate = block.first_key > 0;
    const std::byte* values = attention_.packed_.data() + block.value_offset;
    pack_tiles(numerators, block.padded_keys, numerator_tiles_);
    const ProductTimer timer(machine_.part_clock, worker_);
    if (attention_.float16_)
      machine_.kernels.float16.product(numerator_tiles_, tiles_, values, block.padded_keys, dim, accumulate,
                                       out);
    else
      machine_.products.find({product_type<T>(), padded_rows_, block.padded_keys, dim, accumulate})
          .run(worker_, numerators, values, out);
  }

  float* scores = nullptr;
  T* numerators = nullptr;
  float* out = nullptr;
  float* running_max = nullptr;
  float* running_sum = nullptr;

 private:
  void pack_tiles(const T* rows, int k, uint32_t* tiles) {
    if constexpr (std::is_same_v<T, float>) {
      if (!attention_.float16_) return;
      const PackedKernels& kernels = machine_.kernels.float16;
      for (int tile = 0; tile < tiles_.tiles; ++tile) {
        const int row = tiles_.first(tile);
        kernels.pack_tile(rows + static_cast<ptrdiff_t>(row) * k, tiles_.height(tile), k,
                          tiles + static_cast<size_t>(tile) * kernels.tile_words(k));
      }
    }
  }

  const Attention& attention_;
  Machine& machine_;
  const int padded_rows_;  // that oneDNN's products compute
  const int worker_;
  const T* queries_ = nullptr;
  TileRows tiles_;
  uint32_t* query_tiles_ = nullptr;
  uint32_t* numerator_tiles_ = nullptr;
};

template <typename T>
size_t Attention<T>::packed_bytes(Machine& machine, int k, int n) const {
  return round_up(float16_ ? machine.kernels.float16.packed_bytes(k, n)
                           : machine.products.packed_bytes(product_type<T>(), k, n),
                  64);
}

template <typename T>
void Attention<T>::plan(Machine& machine, std::span<const AttentionSequence> sequences) {
  const int group = shape_.heads / shape_.kv_heads;
  const int tile_queries = std::max(1, (float16_ ? kFloat16TileRows : kTileRows) / group);
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
        block.padded_keys =
            float16_ ? block.keys : static_cast<int>(round_up(static_cast<size_t>(block.keys), kKeyStep));
        block.key_offset = bytes;
        bytes += packed_bytes(machine, shape_.head_dim, block.padded_keys);
        block.value_offset = bytes;
        bytes += packed_bytes(machine, block.padded_keys, shape_.head_dim);
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
  if constexpr (std::is_same_v<T, float>) {
    if (float16_) {
      const Float16Packing& pack = machine.kernels.float16_packing;
      pack.transposed(rows.k + first, shape_.head_dim, block.keys, packed_.data() + block.key_offset);
      pack.plain(rows.v + first, block.keys, shape_.head_dim, packed_.data() + block.value_offset);
      return;
    }
  }
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
  TileProducts products(*this, machine, tile_rows, worker);
  std::fill_n(products.running_max, tile_rows, -std::numeric_limits<float>::infinity());
  std::fill_n(products.running_sum, tile_rows, 0.0F);

  const int64_t first_row = sequence.first_query + tile.first_query;
  products.set_queries(rows.q + (tile.kv_head * rows.query_rows + first_row) * group * dim);
  const int64_t first_position = sequence.first_position + tile.first_query;
  const int64_t visible =
      shape_.causal ? std::min(sequence.keys, first_position + tile.queries) : sequence.keys;
  const size_t list =
      tile.sequence * static_cast<size_t>(shape_.kv_heads) + static_cast<size_t>(tile.kv_head);
  for (size_t b = first_block_[list]; b < first_block_[list + 1] && blocks_[b].first_key < visible; ++b) {
    const KeyBlock& block = blocks_[b];
    products.multiply_keys(block);
    for (int row = 0; row < tile_rows; ++row) {
      int64_t valid = block.keys;
      if (shape_.causal)
        valid = std::clamp<int64_t>(first_position + row / group + 1 - block.first_key, 0, block.keys);
      const ptrdiff_t at = static_cast<ptrdiff_t>(row) * block.padded_keys;
      const float factor = kernels.softmax_block(products.scores + at, static_cast<int>(valid),
                                                 block.padded_keys, products.running_max + row,
                                                 products.running_sum + row, products.numerators + at);
      if (block.first_key > 0 && factor != 1.0F)
        machine.kernels.scale(factor, dim, products.out + static_cast<ptrdiff_t>(row) * dim);
    }
    products.multiply_values(block);
  }
  for (int row = 0; row < tile_rows; ++row) {
    const int64_t at = ((first_row + row / group) * shape_.heads + tile.kv_head * group + row % group) * dim;
    float* row_out = products.out + static_cast<ptrdiff_t>(row) * dim;
    const float factor = 1.0F / products.running_sum[row];
    if (rows.gate) {
      kernels.scale_gate(row_out, factor, rows.gate + at, dim, rows.out + at);
    } else {
      machine.kernels.scale(factor, dim, row_out);
      kernels.store(row_out, dim, rows.out + at);
    }
  }
}

template <typename T>
void Attention<T>::make_products(Machine& machine) {
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
}

template <typename T>
void Attention<T>::run(Machine& machine, const AttentionRows<T>& rows,
                       std::span<const AttentionSequence> sequences) {
  plan(machine, sequences);
  machine.pool.parallel_for(blocks_.size(), [&](size_t i, int) {
    pack_block(machine, rows, sequences[blocks_[i].sequence], blocks_[i]);
  });
  if (!float16_) make_products(machine);  // workers only look them up
  machine.pool.parallel_for(tiles_.size(), [&](size_t i, int worker) {
    run_tile(machine, rows, sequences[tiles_[i].sequence], tiles_[i], worker);
  });
}

template class Attention<float>;
template class Attention<Bf16>;

}  // namespace d3::cpu
