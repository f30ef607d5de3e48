// text/split_pattern.h: the regular expressions of a tokenizer.json's `Split`, for files whose pattern is not
// one of the two of qwen_split.h. A matcher of our own because the meaning of `\p{L}` must come from the
// reference's Unicode tables, which no regular expression library at hand has.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/code_points.h"

namespace d3::text {

/// A compiled pattern. What is understood, with Oniguruma's meaning: literals; `\r \n \t \s \S`; `\p{X}` and
/// `\P{X}` for X in L, M, N, P, S; classes `[..]`, `[^..]` with ranges; groups `(..)`, `(?:..)`, `(?i:..)`
/// (ASCII letters); lookahead `(?=..)`, `(?!..)`; `|`; `?`, `*`, `+`, `{n}`, `{n,}`, `{n,m}` and the
/// possessive `?+`, `*+`, `++` of one character or class, `?` of a group. Everything else is refused.
class SplitPattern {
 public:
  /// Throws Error(kBadCheckpoint) saying which part of the pattern is not understood, or that it matches
  /// nothing at all (an empty piece). `code_points` must outlive this object.
  SplitPattern(std::string_view pattern, const CodePoints& code_points);

  /// The end of the piece that begins at `at` < text.size(): of the match there, or of the text before the
  /// next match. Backtracks as any such matcher: linear for sensible patterns, not for all.
  size_t next(std::string_view text, size_t at) const;

 private:
  friend class SplitPatternParser;

  struct Set {
    uint8_t flags = 0;  // CodePointFlag: any of them
    bool negated = false;
    std::vector<std::pair<uint32_t, uint32_t>> ranges;  // first..last
  };
  enum class Op : uint8_t { kSet, kRepeat, kPossessive, kSplit, kJump, kLookahead, kNotAhead, kMatch };
  struct Instruction {
    Op op;
    uint32_t set = 0;           // kSet, kRepeat, kPossessive
    uint32_t min = 0, max = 0;  // kRepeat, kPossessive
    // Steps to other instructions: kSplit tries the next one first and then +jump; kJump goes to +jump; a
    // lookahead's body follows it, ends in kMatch, and the pattern goes on at +jump.
    uint32_t jump = 0;
  };

  bool contains(uint32_t set, uint32_t code_point) const;
  std::optional<size_t> match(std::string_view text, size_t at, size_t start) const;
  std::pair<size_t, size_t> repeat(const Instruction& loop, std::string_view text, size_t at) const;

  const CodePoints* code_points_;
  std::vector<Set> sets_;
  std::vector<Instruction> program_;
};

}  // namespace d3::text
