#include "text/nfc.h"

#include <algorithm>
#include <array>
#include <span>

#include "text/unicode_data.h"

namespace d3::text {
namespace {

// Hangul by formula: The Unicode Standard, section 3.12.
constexpr uint32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kFinals = 0x11A7;
constexpr uint32_t kLeadCount = 19, kVowelCount = 21, kFinalCount = 28;
constexpr uint32_t kSyllableCount = kLeadCount * kVowelCount * kFinalCount;

constexpr size_t kShortRun = 16;  // up to here insertion sort beats counting

}  // namespace

Nfc::Nfc(const CodePoints& code_points) : code_points_(code_points) {
  for (const Decomposition& entry : std::span(kDecompositions, kDecompositionsCount))
    if (entry.composes) pairs_.push_back({uint64_t{entry.first} << 32 | entry.second, entry.code_point});
  std::sort(pairs_.begin(), pairs_.end());
}

std::string_view Nfc::normalize(std::string_view text, std::string& storage) const {
  size_t unsafe = first_unsafe(text, 0);
  if (unsafe == text.size()) return text;
  storage.clear();
  storage.reserve(text.size());
  std::vector<Symbol> symbols;
  size_t copied = 0;
  while (unsafe < text.size()) {
    // A code point without kNfc begins what its followers may join, and nothing reaches across it backwards.
    const size_t begin = unsafe > copied ? previous_code_point(text, unsafe) : unsafe;
    size_t end = unsafe;
    while (end < text.size()) {
      const auto [code_point, bytes] = decode_utf8(text, end);
      if (!(code_points_.flags(code_point) & kNfc)) break;
      end += bytes;
    }
    storage.append(text.substr(copied, begin - copied));
    normalize_span(text.substr(begin, end - begin), symbols, storage);
    copied = end;
    unsafe = first_unsafe(text, end);
  }
  storage.append(text.substr(copied));
  return storage;
}

// The first code point at or after `from` that NFC may touch.
size_t Nfc::first_unsafe(std::string_view text, size_t from) const {
  while (from < text.size()) {
    if (static_cast<unsigned char>(text[from]) < 0x80) {  // ASCII is never touched
      ++from;
      continue;
    }
    const auto [code_point, bytes] = decode_utf8(text, from);
    if (code_points_.flags(code_point) & kNfc) return from;
    from += bytes;
  }
  return text.size();
}

void Nfc::normalize_span(std::string_view span, std::vector<Symbol>& symbols, std::string& out) const {
  symbols.clear();
  for (size_t at = 0; at < span.size();) {
    const auto [code_point, bytes] = decode_utf8(span, at);
    decompose(code_point, symbols);
    at += bytes;
  }
  order_marks(symbols);
  compose_all(symbols);
  for (const Symbol& symbol : symbols) append_utf8(symbol.code_point, out);
}

void Nfc::decompose(uint32_t code_point, std::vector<Symbol>& out) const {
  if (const uint32_t syllable = code_point - kSyllables; syllable < kSyllableCount) {
    out.push_back({kLeads + syllable / (kVowelCount * kFinalCount), 0});
    out.push_back({kVowels + syllable / kFinalCount % kVowelCount, 0});
    if (const uint32_t final_index = syllable % kFinalCount) out.push_back({kFinals + final_index, 0});
    return;
  }
  const std::span table(kDecompositions, kDecompositionsCount);
  const auto found = std::lower_bound(table.begin(), table.end(), code_point,
                                      [](const Decomposition& d, uint32_t c) { return d.code_point < c; });
  if (found == table.end() || found->code_point != code_point) {
    out.push_back({code_point, combining_class(code_point)});
    return;
  }
  decompose(found->first, out);  // at most four steps deep in Unicode
  if (found->second != 0) decompose(found->second, out);
}

uint8_t Nfc::combining_class(uint32_t code_point) const {
  if (!(code_points_.flags(code_point) & kNfc)) return 0;
  const std::span table(kCombiningRanges, kCombiningRangesCount);
  const auto found = std::lower_bound(table.begin(), table.end(), code_point,
                                      [](const CombiningRange& r, uint32_t c) { return r.last < c; });
  return found != table.end() && found->first <= code_point ? found->combining_class : 0;
}

// Sorts every run of marks by combining class, equal ones in their order.
void Nfc::order_marks(std::vector<Symbol>& symbols) {
  std::vector<Symbol> sorted;
  for (size_t begin = 0; begin < symbols.size();) {
    size_t end = begin;
    while (end < symbols.size() && symbols[end].combining_class != 0) ++end;
    const std::span run = std::span(symbols).subspan(begin, end - begin);
    if (run.size() <= kShortRun) {
      for (size_t i = 1; i < run.size(); ++i)
        for (size_t j = i; j > 0 && run[j - 1].combining_class > run[j].combining_class; --j)
          std::swap(run[j - 1], run[j]);
    } else {
      std::array<size_t, 257> place{};
      for (const Symbol& symbol : run) ++place[symbol.combining_class + 1];
      for (size_t k = 1; k < place.size(); ++k) place[k] += place[k - 1];
      sorted.resize(run.size());
      for (const Symbol& symbol : run) sorted[place[symbol.combining_class]++] = symbol;
      std::copy(sorted.begin(), sorted.end(), run.begin());
    }
    begin = end + 1;
  }
}

// The code point that a pair composes to, or 0.
uint32_t Nfc::compose(uint32_t first, uint32_t second) const {
  if (first - kLeads < kLeadCount && second - kVowels < kVowelCount)
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kFinalCount;
  if (const uint32_t syllable = first - kSyllables; syllable < kSyllableCount)
    return syllable % kFinalCount == 0 && second > kFinals && second < kFinals + kFinalCount
               ? first + (second - kFinals)
               : 0;
  const Pair wanted{uint64_t{first} << 32 | second, 0};
  const auto found = std::lower_bound(pairs_.begin(), pairs_.end(), wanted);
  return found != pairs_.end() && found->parts == wanted.parts ? found->composed : 0;
}

// Joins each symbol with the last starter unless a mark of its own class, or a starter, stands between them.
void Nfc::compose_all(std::vector<Symbol>& symbols) const {
  constexpr size_t kNone = ~size_t{0};
  size_t starter = kNone, kept = 0;
  int last_class = -1;  // of the symbol kept last, -1 right after the starter
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol symbol = symbols[i];
    if (starter != kNone && last_class < static_cast<int>(symbol.combining_class)) {
      if (const uint32_t composed = compose(symbols[starter].code_point, symbol.code_point)) {
        symbols[starter].code_point = composed;
        continue;
      }
    }
    if (symbol.combining_class == 0) {
      starter = kept;
      last_class = -1;
    } else {
      last_class = symbol.combining_class;
    }
    symbols[kept++] = symbol;
  }
  symbols.resize(kept);
}

}  // namespace d3::text
