// text/merge_table.h: pairs of token ids -> the rank of their merge and the token it makes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text/huge_pages.h"

namespace d3::text {

/// A hash table whose most frequent answer, "no such merge", mostly comes from one byte: most pairs that
/// encoding asks about have no merge, and the table proper is larger than the caches near the core.
class MergeTable {
 public:
  static constexpr int32_t kNoRank = INT32_MAX;
  static constexpr int kIdBits = 21, kRankBits = 22;
  static constexpr int32_t kMaxIds = 1 << kIdBits;
  static constexpr int32_t kMaxRanks = (1 << kRankBits) - 1;

  /// Ranks will be below `ranks` <= kMaxRanks.
  explicit MergeTable(size_t ranks);

  /// Ids are below kMaxIds. Of a pair added twice the last rank counts.
  void add(int32_t left, int32_t right, int32_t rank, int32_t merged);

  /// Asks for the memory that add() of a pair will need.
  void prefetch(int32_t left, int32_t right) const {
    const size_t at = key_of(left, right) * kMix >> 32 & (entries_.size() - 1);
    __builtin_prefetch(&tags_[at]);
    __builtin_prefetch(&entries_[at]);
  }

  /// The rank of a pair, or kNoRank; the first rank merges first.
  int32_t rank(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    const uint64_t hash = key * kMix;
    const size_t mask = entries_.size() - 1;
    for (size_t at = hash >> 32 & mask;; at = (at + 1) & mask) {
      if (tags_[at] == 0) return kNoRank;
      if (tags_[at] == tag_of(hash) && entries_[at] >> kRankBits == key)
        return static_cast<int32_t>(entries_[at] & kMaxRanks);
    }
  }

  int32_t rank_count() const { return static_cast<int32_t>(merged_.size()); }

  /// The token that the merge of a rank makes, -1 if that rank was never added.
  int32_t merged(int32_t rank) const { return merged_[static_cast<size_t>(rank)]; }

 private:
  static constexpr uint64_t kMix = 0x9E3779B97F4A7C15;

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << kIdBits | static_cast<uint64_t>(right);
  }
  static uint8_t tag_of(uint64_t hash) { return static_cast<uint8_t>(hash >> 56 | 1); }

  LargeTable<uint8_t> tags_;  // by slot: bits of the pair's hash; 0 where the slot is empty
  std::vector<uint64_t>
      entries_;  // by slot: left << 43 | right << 22 | rank; open addressing, at most half full
  LargeTable<int32_t> merged_;  // by rank
};

}  // namespace d3::text
