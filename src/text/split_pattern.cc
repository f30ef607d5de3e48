#include "text/split_pattern.h"

#include <algorithm>

namespace d3::text {

bool SplitPattern::contains(uint32_t set, uint32_t code_point) const {
  const Set& s = sets_[set];
  const bool inside = (code_points_->flags(code_point) & s.flags) != 0 ||
                      std::any_of(s.ranges.begin(), s.ranges.end(), [&](const auto& range) {
                        return range.first <= code_point && code_point <= range.second;
                      });
  return inside != s.negated;
}

size_t SplitPattern::next(std::string_view text, size_t at) const {
  for (size_t begin = at; begin < text.size(); begin += decode_utf8(text, begin).bytes)
    if (const auto end = match(text, begin, 0)) return begin == at ? *end : begin;
  return text.size();
}

// As many code points of the loop's set as there are: where that ends, and the earliest end the loop allows;
// a first value before the second means fewer than the minimum.
std::pair<size_t, size_t> SplitPattern::repeat(const Instruction& loop, std::string_view text,
                                               size_t at) const {
  size_t earliest = loop.min == 0 ? at : text.size() + 1;
  for (uint32_t count = 0; count < loop.max && at < text.size();) {
    const auto [code_point, bytes] = decode_utf8(text, at);
    if (!contains(loop.set, code_point)) break;
    at += bytes;
    if (++count == loop.min) earliest = at;
  }
  return {at, earliest};
}

// Runs the program from instruction `start` and returns where it ends. The first alternative that leads to a
// match wins.
std::optional<size_t> SplitPattern::match(std::string_view text, size_t at, size_t start) const {
  struct Choice {
    size_t instruction, at;
    size_t earliest;  // a loop's: it may give back code points down to here; else equal to `at`
  };
  std::vector<Choice> choices;
  size_t pc = start;
  while (true) {
    const Instruction& now = program_[pc];
    bool fits = true;
    switch (now.op) {
      case Op::kMatch:
        return at;
      case Op::kJump:
        pc += now.jump;
        break;
      case Op::kSplit:
        choices.push_back({pc + now.jump, at, at});
        ++pc;
        break;
      case Op::kSet:
        fits = at < text.size();
        if (!fits) break;
        if (const auto [code_point, bytes] = decode_utf8(text, at); (fits = contains(now.set, code_point)))
          at += bytes;
        ++pc;
        break;
      case Op::kRepeat:
      case Op::kPossessive: {
        const auto [end, earliest] = repeat(now, text, at);
        fits = end >= earliest;
        if (fits && end > earliest && now.op == Op::kRepeat)
          choices.push_back({pc + 1, previous_code_point(text, end), earliest});
        at = end;
        ++pc;
        break;
      }
      case Op::kLookahead:
      case Op::kNotAhead:
        fits = match(text, at, pc + 1).has_value() == (now.op == Op::kLookahead);
        pc += now.jump;
        break;
    }
    if (fits) continue;
    if (choices.empty()) return std::nullopt;
    Choice& last = choices.back();
    pc = last.instruction;
    at = last.at;
    if (last.at > last.earliest) {
      last.at = previous_code_point(text, last.at);
    } else {
      choices.pop_back();
    }
  }
}

}  // namespace d3::text
