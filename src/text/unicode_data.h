// text/unicode_data.h: the Unicode properties of the reference tokenizer, as compact tables. They are data of
// two Unicode versions (16.0 for categories, 9.0 for normalisation) because the reference's are; see
// tools/make_unicode_tables.py, which writes unicode_data.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace d3::text {

/// Code points first..last have the category `flags`: one of CodePointFlag's kLetter, kMark, kNumber,
/// kPunctuation, kSymbol or kSpace (the `\s` of regular expressions). Code points in no range have none of
/// these.
struct CategoryRange {
  uint32_t first, last;
  uint8_t flags;
};
extern const CategoryRange kCategoryRanges[];
extern const size_t kCategoryRangesCount;

/// Code points first..last have this canonical combining class, which is not 0.
struct CombiningRange {
  uint32_t first, last;
  uint8_t combining_class;
};
extern const CombiningRange kCombiningRanges[];
extern const size_t kCombiningRangesCount;

/// One step of canonical decomposition (Hangul syllables, which follow a formula, are left out). `second` is
/// 0 for a single code point. `composes`: NFC puts the pair together again. Sorted by code_point.
struct Decomposition {
  uint32_t code_point, first, second;
  bool composes;
};
extern const Decomposition kDecompositions[];
extern const size_t kDecompositionsCount;

}  // namespace d3::text
