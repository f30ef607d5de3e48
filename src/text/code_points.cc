#include "text/code_points.h"

#include <algorithm>
#include <span>

#include "text/unicode_data.h"

namespace d3::text {

void append_utf8(uint32_t code_point, std::string& out) {
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

CodePoints::CodePoints() : flags_(kCodePointCount, 0) {
  const auto mark = [&](uint32_t first, uint32_t last, uint8_t flags) {
    for (uint32_t c = first; c <= last; ++c) flags_[c] |= flags;
  };
  for (const CategoryRange& range : std::span(kCategoryRanges, kCategoryRangesCount))
    mark(range.first, range.last, range.flags);
  mark('\n', '\n', kLineEnd);
  mark('\r', '\r', kLineEnd);
  for (const CombiningRange& range : std::span(kCombiningRanges, kCombiningRangesCount))
    mark(range.first, range.last, kNfc);
  for (const Decomposition& entry : std::span(kDecompositions, kDecompositionsCount)) {
    const uint32_t touched = entry.composes ? entry.second : entry.code_point;
    mark(touched, touched, kNfc);
  }
  // Hangul vowels and final consonants join the syllable before them.
  mark(0x1161, 0x1175, kNfc);
  mark(0x11A8, 0x11C2, kNfc);
}

}  // namespace d3::text
