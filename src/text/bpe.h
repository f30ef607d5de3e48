// text/bpe.h: byte-level byte pair encoding of one pre-token: bytes -> ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/character_starts.h"
#include "text/merge_table.h"
#include "text/token_table.h"

namespace d3::text {

/// The `model` of a tokenizer.json. The strings are spelled in the byte-level alphabet (byte_alphabet.h);
/// they need to live only while a Bpe is built.
struct BpeSource {
  std::vector<std::pair<std::string_view, int32_t>> vocab;
  std::vector<std::pair<std::string_view, std::string_view>> merges;  ///< the first is merged first
  bool ignore_merges = false;  ///< a word that is a token is that token, whatever the merges say
};

/// Immutable after construction.
class Bpe {
 public:
  /// Throws Error(kBadCheckpoint) with the key at fault: a byte without a token, a merge of unknown tokens, a
  /// token or an id that is there twice, more than 2^21 ids or 2^22 merges.
  explicit Bpe(const BpeSource& source);

  /// Appends the ids of one pre-token, valid UTF-8: starting from its bytes, the adjacent pair whose merge
  /// comes first in the list is merged, the leftmost of equals, until no pair has a merge. O(n log n);
  /// `steps` grows by the work done, in units of a few nanoseconds, so that tests can see that it is linear.
  void encode(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const;

  /// One more than the largest id.
  int32_t id_count() const { return static_cast<int32_t>(tokens_.id_count()); }

 private:
  static constexpr size_t kFewSymbols = 64;  // up to here looking through all pairs beats a heap
  static constexpr size_t kShortWord = 192;  // bytes

  // The symbols of a word: `ids`, and in `ranks` the rank of each with the next one, kNoRank at the end.
  struct Symbols {
    int32_t* ids;
    int32_t* ranks;
    size_t count;
  };

  // How a token comes about. Bytes have birth 0, the merge of rank r gives birth r + 1.
  struct Origin {
    int32_t left = 0, right = 0;
    int32_t birth = 0;
    // It is a byte, or made by one merge only, of regular tokens that are born before it.
    bool regular = false;
    bool used = false;  // a merge has it as a part
  };

  struct MergeIds {
    int32_t left = TokenTable::kNone, right = TokenTable::kNone, merged = TokenTable::kNone;
  };

  void add_vocab(const BpeSource& source);
  LargeTable<Origin> add_merges(const BpeSource& source);
  bool find_merge(const TokenTable::Probe& left, const TokenTable::Probe& right, int32_t expected,
                  MergeIds& ids) const;
  void add_merge(const MergeIds& ids, int32_t rank, LargeTable<Origin>& origins);
  void add_byte_pairs();
  void find_whole_tokens(const LargeTable<Origin>& origins);
  bool crosses(const LargeTable<Origin>& origins, const Origin& token) const;
  bool merges_to(std::string_view word, int32_t id) const;
  void merge(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const;
  void start(std::string_view word, Symbols& symbols) const;
  void merge_few(Symbols symbols, std::vector<int32_t>& out, uint64_t& steps) const;
  void merge_many(const Symbols& start, std::vector<int32_t>& out, uint64_t& steps) const;
  int32_t byte_pair_rank(int left, int right) const {
    return byte_pair_ranks_[static_cast<size_t>(left << 8 | right)];
  }

  TokenTable tokens_;
  MergeTable merges_;
  std::vector<int32_t> byte_ids_;         // [256]
  std::vector<int32_t> byte_pair_ranks_;  // [256 * 256]
  CharacterStarts characters_;
  bool in_order_ = true;     // every merge comes after all that make its parts
  std::vector<bool> whole_;  // by id: the token's bytes are encoded as the token
};

}  // namespace d3::text
