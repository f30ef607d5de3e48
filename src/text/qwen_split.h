// text/qwen_split.h: the two split patterns of the Qwen tokenizers, written out as a scanner. tests/text
// compares it with the same patterns run by SplitPattern.
#pragma once

#include <cstddef>
#include <string_view>

#include "text/code_points.h"

namespace d3::text {

/// The pattern of the reference's Qwen2Tokenizer.
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The pattern of the reference's Qwen3_5Tokenizer: combining marks belong to words.
inline constexpr std::string_view kQwen35Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Cuts valid UTF-8 into pre-tokens; every byte belongs to one. Linear in the text.
class QwenSplit {
 public:
  enum class Marks { kApart, kInWords };  ///< kQwen2Pattern, kQwen35Pattern

  explicit QwenSplit(Marks marks) : word_(marks == Marks::kInWords ? kLetter | kMark : kLetter) {}

  /// The end of the pre-token that begins at `at` < text.size().
  size_t next(const CodePoints& table, std::string_view text, size_t at) const;

 private:
  size_t skip(const CodePoints& table, std::string_view text, size_t at, uint8_t any, bool wanted) const;
  size_t space_end(const CodePoints& table, std::string_view text, size_t at) const;

  uint8_t word_;  // flags of which a word's code points have one
};

}  // namespace d3::text
