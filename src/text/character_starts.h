// text/character_starts.h: characters that byte pair encoding may begin with as one symbol instead of their
// bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/token_table.h"

namespace d3::text {

/// Chinese, Japanese, Cyrillic and other text spends most merges on putting bytes together to characters.
/// Beginning with the character's token gives the same result when
/// - every merge comes later in the list than all merges that make its parts, so that merging early what will
/// be merged
///   anyway takes nothing away from an earlier merge (the caller checks this),
/// - the character's bytes alone become its token, and
/// - no merge joins a part of the character's bytes with bytes outside it: no merge whose right side is the
/// beginning
///   of the character, none whose left side is its end and whose right side begins another character.
/// Some vocabularies do merge a space with the first byte of a letter, so the second kind is only asked of
/// the side where it matters: such characters begin whole unless ASCII stands before them.
class CharacterStarts {
 public:
  static constexpr int32_t kNone = -1;

  /// Tells of a merge, by the bytes of its two sides; to be called for all of them before build().
  void note_merge(std::string_view left, std::string_view right);

  /// `whole`: by id, whether the token's bytes alone become the token.
  void build(const TokenTable& tokens, const std::vector<bool>& whole);

  bool empty() const { return starts_.empty(); }

  /// The token to begin with, or kNone: begin with the bytes. In a text of valid UTF-8, `after_ascii` says
  /// what the byte before the character is.
  int32_t find(uint32_t code_point, bool after_ascii) const {
    if (code_point >= starts_.size()) return kNone;
    const int32_t start = starts_[code_point];
    return start < 0 || (after_ascii && (start & 1)) ? kNone : start >> 1;
  }

 private:
  static uint32_t part_key(std::string_view part);

  std::unordered_map<uint32_t, bool> joined_beginnings_;  // -> whether with more than ASCII
  std::unordered_set<uint32_t> joined_ends_;
  // By code point up to U+FFFF: token << 1 | (not after ASCII), or kNone.
  std::vector<int32_t> starts_;
};

}  // namespace d3::text
