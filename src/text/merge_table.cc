#include "text/merge_table.h"

#include <bit>

namespace d3::text {

MergeTable::MergeTable(size_t ranks)
    : tags_(std::bit_ceil(2 * ranks + 2), 0), entries_(tags_.size(), 0), merged_(ranks, -1) {}

void MergeTable::add(int32_t left, int32_t right, int32_t rank, int32_t merged) {
  const uint64_t key = key_of(left, right);
  const uint64_t hash = key * kMix;
  const size_t mask = entries_.size() - 1;
  size_t at = hash >> 32 & mask;
  while (tags_[at] != 0 && entries_[at] >> kRankBits != key) at = (at + 1) & mask;
  tags_[at] = tag_of(hash);
  entries_[at] = key << kRankBits | static_cast<uint64_t>(rank);
  merged_[static_cast<size_t>(rank)] = merged;
}

}  // namespace d3::text
