#include "text/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "text/code_points.h"

namespace d3::text {
namespace {

// Unicode's White_Space, which rstrip and lstrip mean.
bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens, bool skip_special)
    : tokens_(std::move(tokens)), skip_special_(skip_special), nodes_(1) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  for (size_t i = 0; i < tokens_.size(); ++i) {
    uint32_t node = 0;
    for (const char c : tokens_[i].content) {
      const auto byte = static_cast<unsigned char>(c);
      auto& next = nodes_[node].next;
      const auto known =
          std::find_if(next.begin(), next.end(), [&](const auto& edge) { return edge.first == byte; });
      if (known != next.end()) {
        node = known->second;
        continue;
      }
      const auto fresh = static_cast<uint32_t>(nodes_.size());
      next.emplace_back(byte, fresh);
      nodes_.emplace_back();
      node = fresh;
    }
    if (nodes_[node].token < 0) nodes_[node].token = static_cast<int32_t>(i);
  }
  for (const auto& [byte, node] : nodes_[0].next) starts_[byte] = node;
  if (nodes_[0].next.size() == 1) only_start_ = nodes_[0].next[0].first;
}

size_t AddedTokenMatcher::first_candidate(std::string_view text, size_t from) const {
  if (only_start_ >= 0) {
    if (from >= text.size()) return text.size();
    const void* found = std::memchr(text.data() + from, only_start_, text.size() - from);
    return found == nullptr ? text.size()
                            : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (from < text.size() && starts_[static_cast<unsigned char>(text[from])] == 0) ++from;
  return from;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::find(std::string_view text, size_t from,
                                                                uint64_t& steps) const {
  if (tokens_.empty()) return std::nullopt;
  for (size_t begin = first_candidate(text, from); begin < text.size();
       begin = first_candidate(text, begin + 1)) {
    uint32_t node = starts_[static_cast<unsigned char>(text[begin])];
    const AddedToken* longest = nullptr;
    size_t end = begin + 1, at = begin + 1;
    while (node != 0) {
      ++steps;
      if (nodes_[node].token >= 0) {
        longest = &tokens_[static_cast<size_t>(nodes_[node].token)];
        end = at;
      }
      if (at == text.size()) break;
      const auto byte = static_cast<unsigned char>(text[at++]);
      const auto& next = nodes_[node].next;
      const auto edge =
          std::find_if(next.begin(), next.end(), [&](const auto& e) { return e.first == byte; });
      node = edge == next.end() ? 0 : edge->second;
    }
    if (longest != nullptr) return Match{begin, end, longest};
  }
  return std::nullopt;
}

size_t AddedTokenMatcher::space_before(std::string_view text, size_t floor, size_t end) {
  while (end > floor) {
    const size_t previous = previous_code_point(text, end);
    if (!is_space(decode_utf8(text, previous).code_point)) break;
    end = previous;
  }
  return end;
}

size_t AddedTokenMatcher::space_after(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const auto [code_point, bytes] = decode_utf8(text, begin);
    if (!is_space(code_point)) break;
    begin += bytes;
  }
  return begin;
}

}  // namespace d3::text
