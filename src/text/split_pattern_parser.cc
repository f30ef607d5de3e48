// The constructor of SplitPattern: pattern -> program, by recursive descent.
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "text/quote.h"
#include "text/split_pattern.h"

namespace d3::text {
namespace {

constexpr size_t kMaxPatternBytes = 4096;
constexpr int kMaxDepth = 16;
constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kMaxRepeats = 1000;

bool is_letter(uint32_t c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

}  // namespace

class SplitPatternParser {
 public:
  SplitPatternParser(std::string_view text, SplitPattern& out) : text_(text), out_(out) {}

  void parse() {
    if (text_.size() > kMaxPatternBytes) refuse("it is longer than 4096 bytes");
    Piece whole = alternation(false, 0);
    if (at_ < text_.size()) refuse("a `)` without its `(`");
    if (whole.may_be_empty) refuse("it can match an empty text");
    append(whole.code, {{Op::kMatch}});
    out_.program_ = std::move(whole.code);
  }

 private:
  using Op = SplitPattern::Op;
  using Set = SplitPattern::Set;
  using Code = std::vector<SplitPattern::Instruction>;
  struct Piece {
    Code code;
    bool may_be_empty = true;
  };

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::kBadCheckpoint,
                fmt::format("tokenizer.json: pre_tokenizer: cannot use the pattern {}: {} (at byte {})",
                            in_quotes(text_), why, at_),
                "tokenizer.json");
  }

  static void append(Code& code, const Code& more) { code.insert(code.end(), more.begin(), more.end()); }

  bool done() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  bool accept(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  uint32_t take_code_point() {
    const auto [code_point, bytes] = decode_utf8(text_, at_);
    at_ += bytes;
    return code_point;
  }

  Piece alternation(bool any_case, int depth) {
    if (depth > kMaxDepth) refuse("its groups are nested too deep");
    std::vector<Piece> options = {sequence(any_case, depth)};
    while (accept("|")) options.push_back(sequence(any_case, depth));
    Piece all = std::move(options.back());
    for (size_t i = options.size() - 1; i-- > 0;) {
      Piece& option = options[i];
      Code code = {{.op = Op::kSplit, .jump = static_cast<uint32_t>(option.code.size()) + 2}};
      append(code, option.code);
      code.push_back({.op = Op::kJump, .jump = static_cast<uint32_t>(all.code.size()) + 1});
      append(code, all.code);
      all = {std::move(code), all.may_be_empty || option.may_be_empty};
    }
    return all;
  }

  Piece sequence(bool any_case, int depth) {
    Piece all;
    uint32_t previous = 0;  // the literal before, for foldings of two letters
    while (!done() && peek() != '|' && peek() != ')') {
      const bool literal = is_letter(static_cast<unsigned char>(peek()));
      const uint32_t letter = literal ? static_cast<uint32_t>(peek() | 0x20) : 0;
      if (any_case) check_folding(previous, letter);
      previous = letter;
      Piece item = peek() == '(' ? group(any_case, depth) : repeated_set(any_case);
      append(all.code, item.code);
      all.may_be_empty = all.may_be_empty && item.may_be_empty;
    }
    return all;
  }

  // Without regard to case the reference lets `ß` match `ss` and ligatures match their letters; we do not.
  void check_folding(uint32_t first, uint32_t second) const {
    const bool folds = (first == 's' && (second == 's' || second == 't')) ||
                       (first == 'f' && (second == 'f' || second == 'i' || second == 'l'));
    if (folds) refuse("`(?i:` around letters that also fold to one character");
  }

  Piece group(bool any_case, int depth) {
    if (accept("(?=")) return lookahead(Op::kLookahead, any_case, depth);
    if (accept("(?!")) return lookahead(Op::kNotAhead, any_case, depth);
    if (accept("(?i:")) {
      any_case = true;
    } else if (!accept("(?:")) {
      accept("(");
      if (!done() && peek() == '?') refuse("an unknown kind of group");
    }
    Piece inner = alternation(any_case, depth + 1);
    if (!accept(")")) refuse("a `(` without its `)`");
    if (!accept("?")) {
      refuse_quantifier();
      return inner;
    }
    refuse_quantifier();
    Code code = {{.op = Op::kSplit, .jump = static_cast<uint32_t>(inner.code.size()) + 1}};
    append(code, inner.code);
    return {std::move(code), true};
  }

  Piece lookahead(Op op, bool any_case, int depth) {
    Piece inner = alternation(any_case, depth + 1);
    if (!accept(")")) refuse("a `(` without its `)`");
    refuse_quantifier();
    Code code = {{.op = op, .jump = static_cast<uint32_t>(inner.code.size()) + 2}};
    append(code, inner.code);
    code.push_back({Op::kMatch});
    return {std::move(code), true};
  }

  void refuse_quantifier() const {
    if (!done() && std::strchr("?*+{", peek()) != nullptr) refuse("a quantifier that is not supported here");
  }

  Piece repeated_set(bool any_case) {
    Set set = peek() == '[' ? character_class(any_case) : single(any_case);
    const auto index = static_cast<uint32_t>(out_.sets_.size());
    out_.sets_.push_back(std::move(set));
    uint32_t min = 1, max = 1;
    Op op = Op::kRepeat;
    if (accept("?")) {
      min = 0;
    } else if (accept("*")) {
      min = 0, max = kNoLimit;
    } else if (accept("+")) {
      max = kNoLimit;
    } else if (accept("{")) {
      std::tie(min, max) = counts();
      refuse_quantifier();
      return {{{.op = op, .set = index, .min = min, .max = max}}, min == 0};
    } else {
      return {{{.op = Op::kSet, .set = index}}, false};
    }
    if (accept("+")) op = Op::kPossessive;
    refuse_quantifier();
    return {{{.op = op, .set = index, .min = min, .max = max}}, min == 0};
  }

  std::pair<uint32_t, uint32_t> counts() {
    const uint32_t min = number();
    uint32_t max = min;
    if (accept(",")) max = !done() && peek() == '}' ? kNoLimit : number();
    if (!accept("}") || max < min || max == 0) refuse("a `{..}` that is no count");
    return {min, max};
  }

  uint32_t number() {
    if (done() || peek() < '0' || peek() > '9') refuse("a `{..}` that is no count");
    uint32_t value = 0;
    while (!done() && peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<uint32_t>(text_[at_++] - '0');
      if (value > kMaxRepeats) refuse("a count over 1000");
    }
    return value;
  }

  // One character or escape outside a class.
  Set single(bool any_case) {
    if (accept("\\S")) return {.flags = kSpace, .negated = true, .ranges = {}};
    if (accept("\\P")) {
      Set set;
      property(set, any_case);
      set.negated = true;
      return set;
    }
    if (std::strchr(".^$*+?{}]", peek()) != nullptr) refuse(fmt::format("a bare `{}`", peek()));
    Set set;
    if (const auto literal = escape_or_literal(set, any_case)) add_literal(set, *literal, any_case);
    return set;
  }

  Set character_class(bool any_case) {
    accept("[");
    Set set;
    set.negated = accept("^");
    if (set.negated && any_case) refuse("`[^` within `(?i:`");
    bool first = true;
    while (!accept("]")) {
      if (done()) refuse("a `[` without its `]`");
      if (peek() == '[' || text_.substr(at_, 2) == "&&") refuse("nested classes");
      if (peek() == '-' && !first && text_.substr(at_ + 1, 1) != "]") refuse("a bare `-` inside a class");
      first = false;
      const auto low = escape_or_literal(set, any_case);
      if (!low) continue;
      if (text_.substr(at_, 1) != "-" || text_.substr(at_ + 1, 1) == "]") {
        add_literal(set, *low, any_case);
        continue;
      }
      accept("-");
      if (done() || peek() == '[') refuse("a range without its end");
      const auto high = escape_or_literal(set, any_case);
      if (!high || *high < *low) refuse("a range without its end");
      if (any_case) refuse("a range within `(?i:`");
      set.ranges.emplace_back(*low, *high);
    }
    if (first) refuse("an empty class");
    return set;
  }

  // Takes one character or escape; returns it if it is a literal, else adds what it stands for to the set.
  std::optional<uint32_t> escape_or_literal(Set& set, bool any_case) {
    if (!accept("\\")) return take_code_point();
    if (done()) refuse("a lone `\\` at its end");
    if (accept("r")) return '\r';
    if (accept("n")) return '\n';
    if (accept("t")) return '\t';
    if (accept("s")) {
      set.flags |= kSpace;
      return std::nullopt;
    }
    if (accept("p")) {
      property(set, any_case);
      return std::nullopt;
    }
    const auto next = static_cast<unsigned char>(peek());
    if (next >= 0x80 || is_letter(next) || (next >= '0' && next <= '9'))
      refuse(fmt::format("the escape {}", in_quotes(text_.substr(at_ - 1, 2))));
    return take_code_point();
  }

  void property(Set& set, bool any_case) {
    constexpr std::string_view kNames = "LMNPS";
    constexpr uint8_t kFlags[] = {kLetter, kMark, kNumber, kPunctuation, kSymbol};
    const std::string_view name = text_.substr(at_, 3);
    const size_t which =
        name.size() == 3 && name[0] == '{' && name[2] == '}' ? kNames.find(name[1]) : kNames.npos;
    if (which == kNames.npos) refuse("a property other than L, M, N, P and S");
    if (any_case) refuse("a property within `(?i:`");
    at_ += 3;
    set.flags |= kFlags[which];
  }

  void add_literal(Set& set, uint32_t code_point, bool any_case) const {
    set.ranges.emplace_back(code_point, code_point);
    if (!any_case) return;
    if (code_point >= 0x80) refuse("a letter beyond ASCII within `(?i:`");
    if (!is_letter(code_point)) return;
    set.ranges.emplace_back(code_point ^ 0x20, code_point ^ 0x20);
    if ((code_point | 0x20) == 's') set.ranges.emplace_back(0x017F, 0x017F);  // long s
    if ((code_point | 0x20) == 'k') set.ranges.emplace_back(0x212A, 0x212A);  // Kelvin sign
  }

  std::string_view text_;
  SplitPattern& out_;
  size_t at_ = 0;
};

SplitPattern::SplitPattern(std::string_view pattern, const CodePoints& code_points)
    : code_points_(&code_points) {
  SplitPatternParser(pattern, *this).parse();
}

}  // namespace d3::text
