// cpu/attention.h: softmax attention with grouped queries, in one pass over the keys (Dao et al.,
// "FlashAttention", 2022): tiles of queries against blocks of keys, online softmax, no T x T matrix.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/machine.h"

namespace d3::cpu {

/// One sequence: `queries` rows of q against `keys` rows of k and v. Query i stands at key position
/// first_position + i (only the causal mask uses it).
struct AttentionSequence {
  int64_t first_query = 0;
  int64_t queries = 0;
  int64_t first_key = 0;
  int64_t keys = 0;
  int64_t first_position = 0;
};

struct AttentionShape {
  int heads = 0;  ///< query heads; query head h reads key/value head h / (heads / kv_heads)
  int kv_heads = 0;
  int head_dim = 0;
  bool causal = false;
};

/// q [kv_heads][query_rows][heads / kv_heads][head_dim], already scaled by head_dim^-0.5.
/// k, v [kv_heads][key_rows][head_dim]. gate (sigmoid applied) and out [query_rows][heads][head_dim].
/// q, k and v must be readable, with finite numbers, for kAttentionPadding rows beyond their end.
template <typename T>
struct AttentionRows {
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
  const float* gate = nullptr;  ///< nullptr: no gate
  T* out = nullptr;
  int64_t query_rows = 0;
  int64_t key_rows = 0;
};
inline constexpr int64_t kAttentionPadding = 128;

/// Whether attention beside weights of that type multiplies in fp16, too.
bool attends_in_float16(const KernelTable& kernels, ProductType type);

template <typename T>
class Attention {
 public:
  /// float16: products by KernelTable::float16, which the CPU must have; T is float.
  explicit Attention(const AttentionShape& shape, bool float16 = false) : shape_(shape), float16_(float16) {}

  /// out = softmax(q kᵀ) v * gate for every sequence; parallel over sequences, key/value heads and tiles of
  /// queries.
  void run(Machine& machine, const AttentionRows<T>& rows, std::span<const AttentionSequence> sequences);

 private:
  /// Some queries of one sequence and one key/value head.
  struct Tile {
    size_t sequence = 0;
    int kv_head = 0;
    int64_t first_query = 0;  // within the sequence
    int queries = 0;
  };
  /// A block of keys and values, packed as right-hand sides of products.
  struct KeyBlock {
    size_t sequence = 0;
    int kv_head = 0;
    int64_t first_key = 0;  // within the sequence
    int keys = 0;
    int padded_keys = 0;
    size_t key_offset = 0;    // in packed_
    size_t value_offset = 0;  // in packed_
  };

  void plan(Machine& machine, std::span<const AttentionSequence> sequences);
  void pack_block(Machine& machine, const AttentionRows<T>& rows, const AttentionSequence& sequence,
                  const KeyBlock& block);
  void make_products(Machine& machine);
  size_t packed_bytes(Machine& machine, int k, int n) const;
  void run_tile(Machine& machine, const AttentionRows<T>& rows, const AttentionSequence& sequence,
                const Tile& tile, int worker);

  /// Rows of queries against the blocks they see: one tile's scratch and products.
  class TileProducts;

  AttentionShape shape_;
  bool float16_;
  std::vector<Tile> tiles_;
  std::vector<KeyBlock> blocks_;  // by sequence, then head, then position
  std::vector<size_t>
      first_block_;  // [sequence * kv_heads + head]: index of its first block; one more at the end
  Workspace<std::byte> packed_;
};

}  // namespace d3::cpu
