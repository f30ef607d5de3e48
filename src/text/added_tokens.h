// text/added_tokens.h: the tokens that are cut out of a text before it is split into words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d3::text {

struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool special = false;
  bool lstrip = false;      ///< takes the white space before it along
  bool rstrip = false;      ///< takes the white space after it along
  bool normalized = false;  ///< looked for in the normalised text, in its own normal form
  bool operator==(const AddedToken&) const = default;
};

/// Finds tokens in a text: the leftmost, of those that begin there the longest. Immutable.
class AddedTokenMatcher {
 public:
  struct Match {
    size_t begin, end;
    const AddedToken* token;
  };

  /// Empty contents are left out; of equal ones the first counts. `skip_special`: special tokens are found,
  /// so that nothing else is found within them, but stay text.
  AddedTokenMatcher(std::vector<AddedToken> tokens, bool skip_special);

  bool empty() const { return tokens_.empty(); }

  /// The first match at or after `from`. Walks at most the longest token from each place where one could
  /// begin.
  std::optional<Match> find(std::string_view text, size_t from, uint64_t& steps) const;

  /// Calls on_text(piece) and on_id(id) for the parts of a text in order; pieces are never empty.
  template <typename OnText, typename OnId>
  void cut(std::string_view text, const OnText& on_text, const OnId& on_id, uint64_t& steps) const;

 private:
  struct Node {
    std::vector<std::pair<unsigned char, uint32_t>> next;
    int32_t token = -1;  // index in tokens_ of the token that ends here
  };

  size_t first_candidate(std::string_view text, size_t from) const;
  static size_t space_before(std::string_view text, size_t floor, size_t end);
  static size_t space_after(std::string_view text, size_t begin);

  std::vector<AddedToken> tokens_;
  bool skip_special_;
  std::vector<Node> nodes_;             // nodes_[0] is the root
  std::array<uint32_t, 256> starts_{};  // by first byte: the node after it, 0 for none
  int only_start_ = -1;                 // the first byte of all tokens, if they share one
};

template <typename OnText, typename OnId>
void AddedTokenMatcher::cut(std::string_view text, const OnText& on_text, const OnId& on_id,
                            uint64_t& steps) const {
  size_t done = 0, from = 0;
  while (const auto match = find(text, from, steps)) {
    size_t begin = match->begin, end = match->end;
    from = end;
    if (skip_special_ && match->token->special) continue;
    if (match->token->lstrip) begin = space_before(text, done, begin);
    if (match->token->rstrip) end = space_after(text, end);
    if (done < begin) on_text(text.substr(done, begin - done));
    on_id(match->token->id);
    done = end;
  }
  if (done < text.size()) on_text(text.substr(done));
}

}  // namespace d3::text
