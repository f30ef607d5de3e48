// text/nfc.h: Unicode normalisation form C, with the tables of the reference (unicode_data.h) and in linear
// time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/code_points.h"

namespace d3::text {

/// NFC as Unicode Standard Annex 15 defines it: decompose, order the marks, compose. Immutable.
class Nfc {
 public:
  /// `code_points` must outlive this object.
  explicit Nfc(const CodePoints& code_points);

  /// The normal form of valid UTF-8: `text` itself where nothing changes, else a view of `storage`, which is
  /// overwritten. Linear in text.size() whatever the marks.
  std::string_view normalize(std::string_view text, std::string& storage) const;

 private:
  struct Symbol {
    uint32_t code_point;
    uint8_t combining_class;
  };
  struct Pair {
    uint64_t parts;  // first << 32 | second
    uint32_t composed;
    bool operator<(const Pair& other) const { return parts < other.parts; }
  };

  size_t first_unsafe(std::string_view text, size_t from) const;
  void normalize_span(std::string_view span, std::vector<Symbol>& symbols, std::string& out) const;
  void decompose(uint32_t code_point, std::vector<Symbol>& out) const;
  uint8_t combining_class(uint32_t code_point) const;
  uint32_t compose(uint32_t first, uint32_t second) const;
  void compose_all(std::vector<Symbol>& symbols) const;
  static void order_marks(std::vector<Symbol>& symbols);

  const CodePoints& code_points_;
  std::vector<Pair> pairs_;  // sorted
};

}  // namespace d3::text
