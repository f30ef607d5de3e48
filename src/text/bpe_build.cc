// The constructor of Bpe: tokenizer.json's lists -> tables.
#include <algorithm>
#include <array>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "text/bpe.h"
#include "text/byte_alphabet.h"
#include "text/quote.h"

namespace d3::text {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kBadCheckpoint, "tokenizer.json: " + message, "tokenizer.json");
}

constexpr size_t kBatch = 64;

// The tables are larger than the caches, so tokens are looked up in batches whose memory is asked for
// beforehand. A batch holds the bytes of its spellings one after another.
class Batch {
 public:
  // `bytes`: at least the sizes of the spellings that will be put.
  void clear(size_t bytes) {
    if (bytes_.size() < bytes) bytes_.resize(bytes);
    used_ = 0;
    probes_.clear();
  }

  // A spelling with a character outside the alphabet gets no bytes.
  void put(const ByteAlphabet& alphabet, std::string_view spelling, const TokenTable& tokens) {
    char* to = bytes_.data() + used_;
    const size_t count = alphabet.decode(spelling, to);
    used_ += count;
    probes_.push_back(tokens.make_probe({to, count}));
  }

  const TokenTable::Probe& operator[](size_t i) const { return probes_[i]; }

 private:
  std::vector<char> bytes_;
  size_t used_ = 0;
  std::vector<TokenTable::Probe> probes_;
};

}  // namespace

Bpe::Bpe(const BpeSource& source)
    : tokens_(source.vocab.size()), merges_(std::min<size_t>(source.merges.size(), MergeTable::kMaxRanks)) {
  add_vocab(source);
  const LargeTable<Origin> origins = add_merges(source);
  add_byte_pairs();
  if (source.ignore_merges) {
    whole_.assign(tokens_.id_count(), true);
  } else {
    find_whole_tokens(origins);
    if (in_order_) characters_.build(tokens_, whole_);
  }
}

void Bpe::add_vocab(const BpeSource& source) {
  const ByteAlphabet alphabet;
  Batch batch;
  for (size_t begin = 0; begin < source.vocab.size(); begin += kBatch) {
    const auto part = std::span(source.vocab).subspan(begin, std::min(kBatch, source.vocab.size() - begin));
    size_t bytes = 0;
    for (const auto& [spelling, id] : part) bytes += spelling.size();
    batch.clear(bytes);
    for (const auto& [spelling, id] : part) {
      if (spelling.empty()) refuse("model.vocab: a token is empty");
      batch.put(alphabet, spelling, tokens_);
    }
    for (size_t i = 0; i < part.size(); ++i) {
      const auto& [spelling, id] = part[i];
      if (id < 0 || id >= MergeTable::kMaxIds)
        refuse(fmt::format("model.vocab: {} has the id {}; ids are 0 to {}", in_quotes(spelling), id,
                           MergeTable::kMaxIds - 1));
      // A token outside the alphabet can never come of bytes; only an added token can bear its name.
      if (batch[i].bytes.empty()) continue;
      if (!tokens_.add(batch[i], id))
        refuse(fmt::format("model.vocab: the token {} or its id {} is there twice", in_quotes(spelling), id));
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    const int32_t id = tokens_.find(std::string_view(&character, 1));
    if (id == TokenTable::kNone) refuse(fmt::format("model.vocab: no token for the byte 0x{:02X}", byte));
    byte_ids_.push_back(id);
  }
}

LargeTable<Bpe::Origin> Bpe::add_merges(const BpeSource& source) {
  if (source.merges.size() > static_cast<size_t>(MergeTable::kMaxRanks))
    refuse(fmt::format("model.merges: {} merges; at most {} are supported", source.merges.size(),
                       MergeTable::kMaxRanks));
  LargeTable<Origin> origins(tokens_.id_count());
  for (const int32_t id : byte_ids_) origins[static_cast<size_t>(id)].regular = true;
  const ByteAlphabet alphabet;
  Batch batch;
  std::array<MergeIds, kBatch> ids;
  int32_t expected = 0;
  for (size_t begin = 0; begin < source.merges.size(); begin += kBatch) {
    const size_t count = std::min(kBatch, source.merges.size() - begin);
    const auto part = std::span(source.merges).subspan(begin, count);
    size_t bytes = 0;
    for (const auto& [left, right] : part) bytes += left.size() + right.size();
    batch.clear(bytes);
    for (const auto& [left, right] : part) {
      batch.put(alphabet, left, tokens_);
      batch.put(alphabet, right, tokens_);
    }
    for (size_t i = 0; i < count; ++i) {
      ids[i] = MergeIds();
      const TokenTable::Probe &left = batch[2 * i], &right = batch[2 * i + 1];
      if (left.bytes.empty() || right.bytes.empty())
        continue;  // outside the alphabet: can never come of bytes
      if (!find_merge(left, right, expected, ids[i])) {
        const auto& [first, second] = part[i];
        refuse(fmt::format("model.merges[{}]: {} and {} and what they make are not all in the vocabulary",
                           begin + i, in_quotes(first), in_quotes(second)));
      }
      merges_.prefetch(ids[i].left, ids[i].right);
      characters_.note_merge(left.bytes, right.bytes);
      expected = ids[i].merged + 1;
    }
    for (size_t i = 0; i < count; ++i)
      if (ids[i].merged != TokenTable::kNone) add_merge(ids[i], static_cast<int32_t>(begin + i), origins);
  }
  return origins;
}

// The bytes of `left` and `right` stand one after the other in memory; `expected` is the id that the merged
// token has if the lists are in the same order, as they mostly are.
bool Bpe::find_merge(const TokenTable::Probe& left, const TokenTable::Probe& right, int32_t expected,
                     MergeIds& ids) const {
  const std::string_view both(left.bytes.data(), left.bytes.size() + right.bytes.size());
  const auto guess = static_cast<size_t>(expected);
  const bool guessed = guess < tokens_.id_count() && tokens_.bytes(guess) == both;
  ids = {tokens_.find(left), tokens_.find(right), guessed ? expected : tokens_.find(both)};
  return ids.left != TokenTable::kNone && ids.right != TokenTable::kNone && ids.merged != TokenTable::kNone;
}

void Bpe::add_merge(const MergeIds& ids, int32_t rank, LargeTable<Origin>& origins) {
  merges_.add(ids.left, ids.right, rank, ids.merged);
  Origin& left = origins[static_cast<size_t>(ids.left)];
  Origin& right = origins[static_cast<size_t>(ids.right)];
  Origin& merged = origins[static_cast<size_t>(ids.merged)];
  left.used = right.used = true;
  if (merged.birth != 0 || merged.used) in_order_ = false;
  merged.regular = merged.birth == 0 && left.regular && right.regular;
  merged.left = ids.left;
  merged.right = ids.right;
  merged.birth = rank + 1;
}

void Bpe::add_byte_pairs() {
  byte_pair_ranks_.reserve(size_t{256} * 256);
  for (const int32_t left : byte_ids_)
    for (const int32_t right : byte_ids_) byte_pair_ranks_.push_back(merges_.rank(left, right));
}

// Encoding every token byte by byte would take most of the time of loading. For regular tokens, nearly all of
// them, it is enough to follow how their halves grow.
void Bpe::find_whole_tokens(const LargeTable<Origin>& origins) {
  whole_.assign(tokens_.id_count(), false);
  for (const int32_t id : byte_ids_) whole_[static_cast<size_t>(id)] = true;
  for (int32_t rank = 0; rank < merges_.rank_count(); ++rank) {
    if (merges_.merged(rank) < 0) continue;
    const auto id = static_cast<size_t>(merges_.merged(rank));
    const Origin& token = origins[id];
    if (!token.regular) continue;
    whole_[id] = whole_[static_cast<size_t>(token.left)] && whole_[static_cast<size_t>(token.right)] &&
                 !crosses(origins, token);
  }
  for (size_t id = 0; id < origins.size(); ++id)
    if (!origins[id].regular && !tokens_.bytes(id).empty())
      whole_[id] = merges_to(tokens_.bytes(id), static_cast<int32_t>(id));
}

// Whether, while the two halves of a regular token grow from bytes, the symbols at their border merge with
// each other instead. Goes back in time: x is the last symbol of the left half, y the first of the right one,
// and each lives from its birth until it becomes part of a larger symbol. Merges run in the order of rank,
// equal ones from the left.
bool Bpe::crosses(const LargeTable<Origin>& origins, const Origin& token) const {
  const auto origin = [&](int32_t id) -> const Origin& { return origins[static_cast<size_t>(id)]; };
  int32_t x = token.left, y = token.right;
  int32_t x_end = token.birth, y_end = token.birth;
  while (origin(x).birth != 0 || origin(y).birth != 0) {
    if (origin(x).birth > origin(y).birth) {
      x_end = origin(x).birth;
      x = origin(x).right;
    } else {
      y_end = origin(y).birth;
      y = origin(y).left;
    }
    const int32_t rank = merges_.rank(x, y);
    if (rank != MergeTable::kNoRank && rank + 1 < x_end && rank + 1 <= y_end) return true;
  }
  return false;
}

bool Bpe::merges_to(std::string_view word, int32_t id) const {
  std::vector<int32_t> ids;
  uint64_t steps = 0;
  merge(word, ids, steps);
  return ids == std::vector{id};
}

}  // namespace d3::text
