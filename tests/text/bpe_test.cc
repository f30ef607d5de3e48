// Bpe against byte pair encoding by its definition.
#include "text/bpe.h"

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "test_paths.h"
#include "tiny_tokenizer.h"

namespace d3::text {
namespace {

using Pair = std::pair<std::string, std::string>;

// A vocabulary and its merges, by bytes.
struct Lists {
  std::map<std::string, int32_t> vocab;
  std::vector<Pair> merges;
};

// Merges the pair of the lowest rank, the leftmost of equals, until there is none.
class PlainBpe {
 public:
  explicit PlainBpe(const Lists& lists) : vocab_(lists.vocab) {
    for (size_t rank = 0; rank < lists.merges.size(); ++rank) ranks_[lists.merges[rank]] = rank;
  }

  std::vector<int32_t> encode(std::string_view word) const {
    std::vector<std::string> parts;
    for (const char c : word) parts.emplace_back(1, c);
    while (true) {
      size_t best_rank = ~size_t{0}, best = 0;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks_.find({parts[i], parts[i + 1]});
        if (found != ranks_.end() && found->second < best_rank) best_rank = found->second, best = i;
      }
      if (best_rank == ~size_t{0}) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
    }
    std::vector<int32_t> ids;
    for (const std::string& part : parts) ids.push_back(vocab_.at(part));
    return ids;
  }

 private:
  std::map<std::string, int32_t> vocab_;
  std::map<Pair, size_t> ranks_;
};

Bpe build(const Lists& lists) {
  std::vector<std::string> spelled;
  spelled.reserve(lists.vocab.size() + 2 * lists.merges.size());
  BpeSource source;
  for (const auto& [bytes, id] : lists.vocab)
    source.vocab.emplace_back(spelled.emplace_back(test::spell(bytes)), id);
  for (const auto& [left, right] : lists.merges) {
    const std::string_view first = spelled.emplace_back(test::spell(left));
    source.merges.emplace_back(first, spelled.emplace_back(test::spell(right)));
  }
  return Bpe(source);
}

std::vector<int32_t> encode(const Bpe& bpe, std::string_view word) {
  std::vector<int32_t> ids;
  uint64_t steps = 0;
  bpe.encode(word, ids, steps);
  return ids;
}

// Letters of one to four bytes; they share first and last bytes, so that merges across their borders occur.
constexpr std::string_view kLetters[] = {"a",  "b",  " ",  "é",  "è",  "ä", "Ĥ",
                                         "中", "丕", "亭", "ア", "ー", "😀", "😁"};

using Letters = std::vector<std::string_view>;

// A few letters, so that the same ones meet often.
Letters random_letters(std::mt19937& random) {
  Letters letters;
  for (int i = 0; i < 5; ++i) letters.push_back(kLetters[random() % std::size(kLetters)]);
  return letters;
}

std::string random_word(std::mt19937& random, const Letters& letters, size_t length) {
  std::string word;
  for (size_t i = 0; i < length; ++i) word += letters[random() % letters.size()];
  return word;
}

Lists only_bytes() {
  Lists lists;
  for (int byte = 0; byte < 256; ++byte) lists.vocab[std::string(1, static_cast<char>(byte))] = byte;
  return lists;
}

// As such lists come about: again and again two neighbours in an encoded word become a token.
Lists random_lists(std::mt19937& random, const Letters& letters, size_t merges) {
  Lists lists = only_bytes();
  std::map<int32_t, std::string> by_id;
  for (const auto& [bytes, id] : lists.vocab) by_id[id] = bytes;
  while (lists.merges.size() < merges) {
    const auto ids = PlainBpe(lists).encode(random_word(random, letters, 12));
    if (ids.size() < 2) break;
    const size_t at = random() % (ids.size() - 1);
    const Pair pair{by_id[ids[at]], by_id[ids[at + 1]]};
    const auto id = static_cast<int32_t>(lists.vocab.size());
    if (lists.vocab.emplace(pair.first + pair.second, id).second) by_id[id] = pair.first + pair.second;
    lists.merges.push_back(pair);
  }
  return lists;
}

TEST(BpeTest, EqualsTheDefinitionOnRandomLists) {
  std::mt19937 random(1);
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    const Letters letters = random_letters(random);
    Lists lists = random_lists(random, letters, 1 + random() % 30);
    // A third of the lists in an order that no training gives.
    for (int i = 0; round % 3 == 0 && i < 3; ++i)
      std::swap(lists.merges[random() % lists.merges.size()], lists.merges[random() % lists.merges.size()]);
    const Bpe bpe = build(lists);
    const PlainBpe plain(lists);
    for (const auto& [bytes, id] : lists.vocab) {
      if (!simdjson::validate_utf8(bytes)) continue;
      ASSERT_EQ(encode(bpe, bytes), plain.encode(bytes)) << bytes;
    }
    for (int i = 0; i < 20; ++i) {
      const std::string word = random_word(random, letters, 1 + random() % (i == 0 ? 200 : 12));
      ASSERT_EQ(encode(bpe, word), plain.encode(word)) << word;
    }
  }
}

Lists with_merges(std::vector<Pair> merges) {
  Lists lists = only_bytes();
  for (const auto& [left, right] : merges)
    lists.vocab.emplace(left + right, static_cast<int32_t>(lists.vocab.size()));
  lists.merges = std::move(merges);
  return lists;
}

TEST(BpeTest, TiesGoToTheLeft) {
  const Lists lists = with_merges({{"a", "a"}, {"aa", "a"}, {"a", "b"}});
  const Bpe bpe = build(lists);
  EXPECT_EQ(encode(bpe, "aaa"), std::vector<int32_t>{257});
  EXPECT_EQ(encode(bpe, "aaaaab"), (std::vector<int32_t>{256, 257, 'b'}));
  EXPECT_EQ(encode(bpe, "ab"), std::vector<int32_t>{258});
  EXPECT_EQ(encode(bpe, "aab"), (std::vector<int32_t>{256, 'b'}));
}

TEST(BpeTest, ATokenMayBeOutOfItsOwnReach) {
  // "aaa" becomes "aa" and "a"; the bytes of 中 become its first one and the other two.
  const Bpe bpe =
      build(with_merges({{"a", "a"}, {"a", "aa"}, {"\xB8", "\xAD"}, {"\xE4", "\xB8"}, {"\xE4\xB8", "\xAD"}}));
  EXPECT_EQ(encode(bpe, "aaa"), (std::vector<int32_t>{256, 'a'}));
  EXPECT_EQ(encode(bpe, "中中"), (std::vector<int32_t>{0xE4, 258, 0xE4, 258}));
}

TEST(BpeTest, LastOfARepeatedPairCounts) {
  const Lists lists = with_merges({{"a", "b"}, {"b", "c"}, {"a", "b"}});
  EXPECT_EQ(encode(build(lists), "abc"), (std::vector<int32_t>{'a', 257}));
}

// Every token of a real vocabulary, alone, and every hundredth with a neighbour.
TEST(BpeTest, EqualsTheDefinitionOnARealVocabulary) {
  const auto file = d3::test::shared_path("fixtures/tokenizer-qwen35/tokenizer.json");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  simdjson::dom::parser parser;
  const simdjson::dom::element model = parser.load(file.string())["model"];
  BpeSource source;
  for (const auto& [key, id] : model["vocab"].get_object())
    source.vocab.emplace_back(key, static_cast<int32_t>(id.get_int64()));
  for (const auto pair : model["merges"].get_array())
    source.merges.emplace_back(pair.at(0).get_string(), pair.at(1).get_string());
  const Bpe bpe(source);

  std::map<std::string, char> alphabet;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    alphabet[test::spell({&c, 1})] = c;
  }
  const auto bytes_of = [&](std::string_view spelled) {
    std::string bytes;
    for (size_t at = 0, length = 0; at < spelled.size(); at += length) {
      length = decode_utf8(spelled, at).bytes;
      bytes += alphabet.at(std::string(spelled.substr(at, length)));
    }
    return bytes;
  };
  Lists lists;
  for (const auto& [spelled, id] : source.vocab) lists.vocab[bytes_of(spelled)] = id;
  for (const auto& [left, right] : source.merges) lists.merges.emplace_back(bytes_of(left), bytes_of(right));
  const PlainBpe plain(lists);
  size_t index = 0, different = 0;
  std::string before;
  for (const auto& [bytes, id] : lists.vocab) {
    if (!simdjson::validate_utf8(bytes)) continue;
    different += encode(bpe, bytes) != plain.encode(bytes);
    if (++index % 100 != 0) continue;
    different += encode(bpe, before + bytes) != plain.encode(before + bytes);
    before = bytes;
  }
  EXPECT_GT(index, 240'000U);
  EXPECT_EQ(different, 0U);
}

}  // namespace
}  // namespace d3::text
