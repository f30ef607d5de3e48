// text/bpe.h: byte-level byte pair encoding of one pre-token: bytes -> ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d3::text {

/// The `model` of a tokenizer.json. The strings are spelled in the byte-level alphabet, in which every byte
/// is a printable character (byte 0x20 is `Ġ`); they need to live only while a Bpe is built.
struct BpeSource {
  std::vector<std::pair<std::string_view, int32_t>> vocab;  ///< of a repeated token the last id counts
  std::vector<std::pair<std::string_view, std::string_view>> merges;  ///< the first is merged first
  bool ignore_merges = false;  ///< a word that is a token is that token, whatever the merges say
};

/// The bytes that a byte-level spelling stands for; nothing if a character is not of its alphabet.
std::optional<std::string> decode_byte_level(std::string_view spelling);

/// Immutable after construction.
class Bpe {
 public:
  /// Throws Error(kBadCheckpoint) with the key at fault: a byte without a token, a merge of unknown tokens,
  /// two tokens of one id, more than 2^21 ids or 2^22 merges.
  explicit Bpe(const BpeSource& source);

  /// Appends the ids of one pre-token: starting from its bytes, the adjacent pair whose merge comes first in
  /// the list is merged, the leftmost of equals, until no pair has a merge. O(n log n); `steps` grows by the
  /// work done, in units of a few nanoseconds, so that tests can see that it is linear.
  void encode(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const;

  /// The id of a token given by its bytes.
  std::optional<int32_t> find(std::string_view bytes) const;

  /// One more than the largest id.
  int32_t id_count() const { return static_cast<int32_t>(tokens_.size()); }

 private:
  struct Token {
    uint32_t offset = 0;  // in bytes_
    uint32_t length = 0;  // 0: no such id
  };
  struct Slot {
    uint32_t hash = 0;
    int32_t id = -1;  // -1: empty
  };

  void add_vocab(const BpeSource& source);
  void add_merges(const BpeSource& source);
  void add_merge(uint32_t left, uint32_t right, uint32_t rank);
  void find_whole_tokens();
  std::string_view token_bytes(size_t id) const;
  uint32_t rank_of(uint32_t left, uint32_t right) const;
  void encode_short(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const;
  void encode_long(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const;

  std::string bytes_;              // every token's bytes, one after another
  std::vector<Token> tokens_;      // by id
  std::vector<Slot> words_;        // open addressing by hash of the bytes; a power of two
  std::vector<uint64_t> pairs_;    // open addressing: left << 43 | right << 22 | rank; kNoPair where empty
  std::vector<int32_t> merged_;    // by rank: the id of the merged token
  std::vector<bool> whole_;        // by id: the merges lead from the token's bytes to the token
  std::vector<int32_t> byte_ids_;  // [256]
  size_t longest_token_ = 0;
  bool ignore_merges_ = false;
};

}  // namespace d3::text
