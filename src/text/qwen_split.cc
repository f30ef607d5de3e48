#include "text/qwen_split.h"

namespace d3::text {
namespace {

// The length of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` at `at`, in any case (`ſ` folds to s), or 0.
size_t contraction(std::string_view text, size_t at) {
  if (text[at] != '\'' || at + 1 >= text.size()) return 0;
  const auto lower = [&](size_t i) {
    return at + i < text.size() ? static_cast<char>(text[at + i] | 0x20) : '\0';
  };
  switch (lower(1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return 2;
    case 'r':
    case 'v':
      return lower(2) == 'e' ? 3 : 0;
    case 'l':
      return lower(2) == 'l' ? 3 : 0;
    default:
      return text.substr(at + 1, 2) == "\u017F" ? 3 : 0;
  }
}

}  // namespace

// The end of the run of code points that have one of the flags `any` (wanted), or have none of them
// (!wanted).
inline size_t QwenSplit::skip(const CodePoints& table, std::string_view text, size_t at, uint8_t any,
                              bool wanted) const {
  while (at < text.size()) {
    const auto [code_point, bytes] = decode_utf8(text, at);
    if (((table.flags(code_point) & any) != 0) != wanted) break;
    at += bytes;
  }
  return at;
}

size_t QwenSplit::next(const CodePoints& table, std::string_view text, size_t at) const {
  if (const size_t length = contraction(text, at)) return at + length;
  const auto [code_point, bytes] = decode_utf8(text, at);
  const uint8_t flags = table.flags(code_point);
  const size_t after = at + bytes;
  if (flags & word_) return skip(table, text, after, word_, true);
  if (flags & kNumber) return after;
  const uint8_t following =
      after < text.size() ? table.flags(decode_utf8(text, after).code_point) : uint8_t{kSpace};
  if (!(flags & kLineEnd) && (following & word_)) return skip(table, text, after, word_, true);
  const uint8_t not_symbols = kSpace | kNumber | word_;
  if (!(flags & kSpace) || (code_point == ' ' && !(following & not_symbols))) {
    const size_t end = skip(table, text, after, not_symbols, false);
    return skip(table, text, end, kLineEnd, true);
  }
  return space_end(table, text, at);
}

// White space: up to its last line end; without one up to the last code point, which is left to the word that
// follows; all of it at the end of the text.
size_t QwenSplit::space_end(const CodePoints& table, std::string_view text, size_t at) const {
  size_t end = at, last = at, after_line_end = at;
  while (end < text.size()) {
    const auto [code_point, bytes] = decode_utf8(text, end);
    const uint8_t flags = table.flags(code_point);
    if (!(flags & kSpace)) break;
    last = end;
    end += bytes;
    if (flags & kLineEnd) after_line_end = end;
  }
  if (after_line_end > at) return after_line_end;
  return end == text.size() || last == at ? end : last;
}

}  // namespace d3::text
