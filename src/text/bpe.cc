#include "text/bpe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <queue>

#include <fmt/format.h>

#include "base/error.h"
#include "text/code_points.h"

namespace d3::text {
namespace {

constexpr int kIdBits = 21, kRankBits = 22;
constexpr uint32_t kNoRank = ~uint32_t{0};
constexpr uint64_t kNoPair = ~uint64_t{0};
constexpr size_t kShortWord = 64;  // bytes; up to here scanning for the best pair beats a heap
constexpr uint64_t kMix = 0x9E3779B97F4A7C15;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kBadCheckpoint, "tokenizer.json: " + message, "tokenizer.json");
}

uint64_t load_bytes(const char* from, size_t count) {
  uint64_t value = 0;
  std::memcpy(&value, from, count);
  return value;
}

uint32_t hash_bytes(std::string_view bytes) {
  uint64_t hash = bytes.size() * kMix;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kMix;
    hash ^= hash >> 32;
  };
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left > 8; at += 8, left -= 8) mix(load_bytes(at, 8));
  if (left >= 4) {
    mix(load_bytes(at, 4) | load_bytes(at + left - 4, 4) << 32);
  } else if (left > 0) {
    const auto byte = [&](size_t i) { return uint64_t{static_cast<unsigned char>(at[i])}; };
    mix(byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16);
  }
  return static_cast<uint32_t>(hash);
}

uint64_t pair_key(uint32_t left, uint32_t right) { return uint64_t{left} << kIdBits | right; }

size_t pair_place(uint64_t key, size_t mask) { return (key * kMix >> 32) & mask; }

// The byte that each character of the byte-level alphabet stands for, -1 for characters outside it: printable
// Latin-1 stands for itself, and the other bytes, in order, are the characters from U+0100 on.
std::array<int16_t, 324> make_alphabet() {
  std::array<int16_t, 324> bytes{};
  bytes.fill(-1);
  size_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    bytes[printable ? static_cast<size_t>(byte) : next++] = static_cast<int16_t>(byte);
  }
  return bytes;
}

// Appends the bytes of a spelling; false (with `out` as it was) if it has a character outside the alphabet.
bool append_decoded(const std::array<int16_t, 324>& alphabet, std::string_view spelling, std::string& out) {
  const size_t before = out.size();
  for (size_t at = 0; at < spelling.size();) {
    const auto [code_point, length] = decode_utf8(spelling, at);
    if (code_point >= alphabet.size() || alphabet[code_point] < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<char>(alphabet[code_point]));
    at += length;
  }
  return true;
}

}  // namespace

std::optional<std::string> decode_byte_level(std::string_view spelling) {
  std::string bytes;
  if (!append_decoded(make_alphabet(), spelling, bytes)) return std::nullopt;
  return bytes;
}

Bpe::Bpe(const BpeSource& source) : ignore_merges_(source.ignore_merges) {
  add_vocab(source);
  add_merges(source);
  find_whole_tokens();
}

std::string_view Bpe::token_bytes(size_t id) const {
  return std::string_view(bytes_).substr(tokens_[id].offset, tokens_[id].length);
}

void Bpe::add_vocab(const BpeSource& source) {
  const auto alphabet = make_alphabet();
  words_.assign(std::bit_ceil(2 * source.vocab.size() + 1), Slot{});
  const size_t mask = words_.size() - 1;
  for (const auto& [spelling, id] : source.vocab) {
    if (id < 0 || id >= 1 << kIdBits)
      refuse(
          fmt::format("model.vocab: '{}' has the id {}; ids are 0 to {}", spelling, id, (1 << kIdBits) - 1));
    if (spelling.empty()) refuse("model.vocab: a token is empty");
    const size_t offset = bytes_.size();
    // A token outside the alphabet can never come of bytes; only an added token can bear its name.
    if (!append_decoded(alphabet, spelling, bytes_)) continue;
    if (static_cast<size_t>(id) >= tokens_.size()) tokens_.resize(static_cast<size_t>(id) + 1);
    Token& token = tokens_[static_cast<size_t>(id)];
    if (token.length != 0)
      refuse(fmt::format("model.vocab: '{}' has the id {} of another token", spelling, id));
    token = {static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes_.size() - offset)};
    longest_token_ = std::max<size_t>(longest_token_, token.length);
    const std::string_view bytes = token_bytes(static_cast<size_t>(id));
    const uint32_t hash = hash_bytes(bytes);
    size_t at = hash & mask;
    while (words_[at].id >= 0 &&
           !(words_[at].hash == hash && token_bytes(static_cast<size_t>(words_[at].id)) == bytes))
      at = (at + 1) & mask;
    words_[at] = {hash, id};
  }
  byte_ids_.resize(256);
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    const auto id = find({&character, 1});
    if (!id) refuse(fmt::format("model.vocab: no token for the byte 0x{:02X}", byte));
    byte_ids_[static_cast<size_t>(byte)] = *id;
  }
}

std::optional<int32_t> Bpe::find(std::string_view bytes) const {
  if (bytes.size() > longest_token_) return std::nullopt;
  const uint32_t hash = hash_bytes(bytes);
  const size_t mask = words_.size() - 1;
  for (size_t at = hash & mask; words_[at].id >= 0; at = (at + 1) & mask)
    if (words_[at].hash == hash && token_bytes(static_cast<size_t>(words_[at].id)) == bytes)
      return words_[at].id;
  return std::nullopt;
}

void Bpe::add_merges(const BpeSource& source) {
  if (source.merges.size() >= size_t{1} << kRankBits)
    refuse(fmt::format("model.merges: {} merges; at most {} are supported", source.merges.size(),
                       (1 << kRankBits) - 1));
  const auto alphabet = make_alphabet();
  pairs_.assign(std::bit_ceil(2 * source.merges.size() + 1), kNoPair);
  merged_.assign(source.merges.size(), -1);
  std::string bytes;
  size_t expected = 0;  // lists are mostly in the order of ids, which spares looking the merged token up
  for (size_t rank = 0; rank < source.merges.size(); ++rank) {
    const auto& [left_spelling, right_spelling] = source.merges[rank];
    bytes.clear();
    const bool left_known = append_decoded(alphabet, left_spelling, bytes);
    const size_t cut = bytes.size();
    if (!left_known || !append_decoded(alphabet, right_spelling, bytes)) continue;  // can never come of bytes
    const std::string_view both = bytes;
    const auto left = find(both.substr(0, cut)), right = find(both.substr(cut));
    const auto merged = expected < tokens_.size() && token_bytes(expected) == both
                            ? std::optional(static_cast<int32_t>(expected))
                            : find(both);
    if (!left || !right || !merged)
      refuse(
          fmt::format("model.merges[{}]: '{}' + '{}' is a merge of tokens that the vocabulary does not have",
                      rank, left_spelling, right_spelling));
    expected = static_cast<size_t>(*merged) + 1;
    merged_[rank] = *merged;
    add_merge(static_cast<uint32_t>(*left), static_cast<uint32_t>(*right), static_cast<uint32_t>(rank));
  }
}

void Bpe::add_merge(uint32_t left, uint32_t right, uint32_t rank) {
  const uint64_t key = pair_key(left, right);
  const size_t mask = pairs_.size() - 1;
  size_t at = pair_place(key, mask);
  while (pairs_[at] != kNoPair && pairs_[at] >> kRankBits != key) at = (at + 1) & mask;
  pairs_[at] = key << kRankBits | rank;  // of a repeated pair the last rank counts, as in the reference
}

uint32_t Bpe::rank_of(uint32_t left, uint32_t right) const {
  const uint64_t key = pair_key(left, right);
  const size_t mask = pairs_.size() - 1;
  for (size_t at = pair_place(key, mask); pairs_[at] != kNoPair; at = (at + 1) & mask)
    if (pairs_[at] >> kRankBits == key) return static_cast<uint32_t>(pairs_[at]) & ((1 << kRankBits) - 1);
  return kNoRank;
}

void Bpe::find_whole_tokens() {
  whole_.assign(tokens_.size(), ignore_merges_);
  if (ignore_merges_) return;
  std::vector<int32_t> ids;
  uint64_t steps = 0;
  for (size_t id = 0; id < tokens_.size(); ++id) {
    if (tokens_[id].length == 0) continue;
    ids.clear();
    encode(token_bytes(id), ids, steps);
    whole_[id] = ids.size() == 1 && ids[0] == static_cast<int32_t>(id);
  }
}

void Bpe::encode(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const {
  steps += word.size();
  if (const auto id = find(word); id && whole_[static_cast<size_t>(*id)]) {
    out.push_back(*id);
  } else if (word.size() <= kShortWord) {
    encode_short(word, out, steps);
  } else {
    encode_long(word, out, steps);
  }
}

void Bpe::encode_short(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const {
  std::array<uint32_t, kShortWord> ids;
  std::array<uint32_t, kShortWord> ranks;  // ranks[i] of the pair i, i + 1
  size_t count = word.size();
  for (size_t i = 0; i < count; ++i)
    ids[i] = static_cast<uint32_t>(byte_ids_[static_cast<unsigned char>(word[i])]);
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = rank_of(ids[i], ids[i + 1]);
  while (count > 1) {
    steps += count;
    const auto best = std::min_element(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(count - 1));
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    ids[at] = static_cast<uint32_t>(merged_[*best]);
    std::copy(ids.begin() + static_cast<ptrdiff_t>(at + 2), ids.begin() + static_cast<ptrdiff_t>(count),
              ids.begin() + static_cast<ptrdiff_t>(at + 1));
    std::copy(best + 1, ranks.begin() + static_cast<ptrdiff_t>(count - 1), best);
    --count;
    if (at + 1 < count) ranks[at] = rank_of(ids[at], ids[at + 1]);
    if (at > 0) ranks[at - 1] = rank_of(ids[at - 1], ids[at]);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count));
}

// A doubly linked list of symbols and a heap of their pairs by (rank, place). An entry of the heap is out of
// date when the pair at its place has another rank by now.
void Bpe::encode_long(std::string_view word, std::vector<int32_t>& out, uint64_t& steps) const {
  struct Symbol {
    uint32_t id, rank;  // rank of the pair with the next symbol
    uint32_t previous, next;
  };
  if (word.size() >= kNoRank) throw Error(ErrorCode::kInvalidArgument, "the text is longer than 4 GiB");
  const auto count = static_cast<uint32_t>(word.size());
  std::vector<Symbol> symbols(count);
  std::vector<uint64_t> entries;  // rank << 32 | place
  entries.reserve(count);
  for (uint32_t i = 0; i < count; ++i)
    symbols[i] = {static_cast<uint32_t>(byte_ids_[static_cast<unsigned char>(word[i])]), kNoRank, i - 1,
                  i + 1};
  for (uint32_t i = 0; i + 1 < count; ++i) {
    symbols[i].rank = rank_of(symbols[i].id, symbols[i + 1].id);
    if (symbols[i].rank != kNoRank) entries.push_back(uint64_t{symbols[i].rank} << 32 | i);
  }
  std::priority_queue heap(std::greater<>(), std::move(entries));
  const auto update_pair = [&](uint32_t place) {
    Symbol& symbol = symbols[place];
    symbol.rank = symbol.next < count ? rank_of(symbol.id, symbols[symbol.next].id) : kNoRank;
    if (symbol.rank != kNoRank) heap.push(uint64_t{symbol.rank} << 32 | place);
  };
  while (!heap.empty()) {
    ++steps;
    const auto rank = static_cast<uint32_t>(heap.top() >> 32), place = static_cast<uint32_t>(heap.top());
    heap.pop();
    Symbol& left = symbols[place];
    if (left.rank != rank) continue;
    Symbol& right = symbols[left.next];
    left.id = static_cast<uint32_t>(merged_[rank]);
    right.rank = kNoRank;
    left.next = right.next;
    if (left.next < count) symbols[left.next].previous = place;
    update_pair(place);
    if (place > 0) update_pair(left.previous);
  }
  for (uint32_t i = 0; i < count; i = symbols[i].next) out.push_back(static_cast<int32_t>(symbols[i].id));
}

}  // namespace d3::text
