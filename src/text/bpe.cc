#include "text/bpe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <queue>

#include "base/error.h"
#include "text/code_points.h"

namespace d3::text {
namespace {

// The first place of the smallest of `count` > 0 ranks. Signed numbers and two plain loops, because compilers
// turn these into vector instructions.
size_t first_smallest(const int32_t* ranks, size_t count) {
  int32_t smallest = ranks[0];
  for (size_t i = 1; i < count; ++i) smallest = std::min(smallest, ranks[i]);
  size_t at = 0;
  while (ranks[at] != smallest) ++at;
  return at;
}

}  // namespace

void Bpe::encode(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const {
  steps += word.size();
  if (const int32_t id = tokens_.find(word); id != TokenTable::kNone && whole_[static_cast<size_t>(id)]) {
    out.push_back(id);
  } else {
    merge(word, out, steps);
  }
}

void Bpe::merge(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const {
  const auto run = [&](int32_t* ids, int32_t* ranks) {
    Symbols symbols{ids, ranks, 0};
    start(word, symbols);
    symbols.count <= kFewSymbols ? merge_few(symbols, out, steps) : merge_many(symbols, out, steps);
  };
  if (word.size() <= kShortWord) {
    std::array<int32_t, kShortWord> ids;
    std::array<int32_t, kShortWord> ranks;
    run(ids.data(), ranks.data());
  } else {
    std::vector<int32_t> ids(word.size()), ranks(word.size());
    run(ids.data(), ranks.data());
  }
}

// Cuts a word into the symbols that merging begins with: bytes, or characters where that comes to the same.
void Bpe::start(std::string_view word, Symbols& symbols) const {
  int before = -1;  // the byte before, -1 if that symbol is no byte
  const auto put = [&](int32_t id, int byte) {
    if (symbols.count > 0) {
      const int32_t rank = before >= 0 && byte >= 0 ? byte_pair_rank(before, byte)
                                                    : merges_.rank(symbols.ids[symbols.count - 1], id);
      symbols.ranks[symbols.count - 1] = rank;
    }
    symbols.ids[symbols.count++] = id;
    before = byte;
  };
  for (size_t at = 0; at < word.size();) {
    const auto byte = static_cast<unsigned char>(word[at]);
    if (byte >= 0xC0 && !characters_.empty()) {
      const auto [code_point, bytes] = decode_utf8(word, at);
      const bool after_ascii = at > 0 && static_cast<unsigned char>(word[at - 1]) < 0x80;
      if (const int32_t id = characters_.find(code_point, after_ascii); id != CharacterStarts::kNone) {
        put(id, -1);
        at += bytes;
        continue;
      }
    }
    put(byte_ids_[byte], byte);
    ++at;
  }
  if (symbols.count > 0) symbols.ranks[symbols.count - 1] = MergeTable::kNoRank;
}

void Bpe::merge_few(Symbols symbols, std::vector<int32_t>& out, uint64_t& steps) const {
  auto& [ids, ranks, count] = symbols;
  while (count > 1) {
    steps += count;
    const size_t at = first_smallest(ranks, count - 1);
    if (ranks[at] == MergeTable::kNoRank) break;
    ids[at] = merges_.merged(ranks[at]);
    --count;
    std::memmove(ids + at + 1, ids + at + 2, (count - at - 1) * sizeof(int32_t));
    std::memmove(ranks + at, ranks + at + 1, (count - at) * sizeof(int32_t));
    if (at + 1 < count) ranks[at] = merges_.rank(ids[at], ids[at + 1]);
    if (at > 0) ranks[at - 1] = merges_.rank(ids[at - 1], ids[at]);
  }
  out.insert(out.end(), ids, ids + count);
}

// A doubly linked list of symbols and a heap of their pairs by (rank, place). An entry of the heap is out of
// date when the pair at its place has another rank by now.
void Bpe::merge_many(const Symbols& start, std::vector<int32_t>& out, uint64_t& steps) const {
  struct Symbol {
    int32_t id, rank;  // rank of the pair with the next symbol
    uint32_t previous, next;
  };
  if (start.count >= UINT32_MAX) throw Error(ErrorCode::kInvalidArgument, "the text is longer than 4 GiB");
  const auto count = static_cast<uint32_t>(start.count);
  std::vector<Symbol> symbols(count);
  std::vector<uint64_t> entries;  // rank << 32 | place
  entries.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    symbols[i] = {start.ids[i], start.ranks[i], i - 1, i + 1};
    if (start.ranks[i] != MergeTable::kNoRank)
      entries.push_back(static_cast<uint64_t>(start.ranks[i]) << 32 | i);
  }
  std::priority_queue heap(std::greater<>(), std::move(entries));
  const auto update_pair = [&](uint32_t place) {
    Symbol& symbol = symbols[place];
    symbol.rank =
        symbol.next < count ? merges_.rank(symbol.id, symbols[symbol.next].id) : MergeTable::kNoRank;
    if (symbol.rank != MergeTable::kNoRank) heap.push(static_cast<uint64_t>(symbol.rank) << 32 | place);
  };
  while (!heap.empty()) {
    ++steps;
    const auto rank = static_cast<int32_t>(heap.top() >> 32);
    const auto place = static_cast<uint32_t>(heap.top());
    heap.pop();
    Symbol& left = symbols[place];
    if (left.rank != rank) continue;
    Symbol& right = symbols[left.next];
    left.id = merges_.merged(rank);
    right.rank = MergeTable::kNoRank;
    left.next = right.next;
    if (left.next < count) symbols[left.next].previous = place;
    update_pair(place);
    if (place > 0) update_pair(left.previous);
  }
  for (uint32_t i = 0; i < count; i = symbols[i].next) out.push_back(symbols[i].id);
}

}  // namespace d3::text
