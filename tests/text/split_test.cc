// The scanner of the two Qwen patterns against the patterns themselves, and the patterns' meaning.
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/qwen_split.h"
#include "text/split_pattern.h"

namespace d3::text {
namespace {

using ::testing::ElementsAre;

template <typename Next>
std::vector<std::string> pieces(std::string_view text, const Next& next) {
  std::vector<std::string> out;
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    end = next(text, at);
    if (end <= at || end > text.size()) {
      ADD_FAILURE() << "a piece from " << at << " to " << end;
      return out;
    }
    out.emplace_back(text.substr(at, end - at));
  }
  return out;
}

std::vector<std::string> by_pattern(std::string_view pattern, std::string_view text) {
  const CodePoints code_points;
  const SplitPattern split(pattern, code_points);
  return pieces(text, [&](std::string_view t, size_t at) { return split.next(t, at); });
}

std::vector<std::string> by_scanner(QwenSplit::Marks marks, std::string_view text) {
  const CodePoints code_points;
  const QwenSplit split(marks);
  return pieces(text, [&](std::string_view t, size_t at) { return split.next(code_points, t, at); });
}

std::string random_text(std::mt19937& random) {
  static constexpr const char* kParts[] = {
      " ",          "  ",         "\n",     "\r\n",    "\t",   "\u0085", "\u00A0", "\u3000", "\u180E",
      "'",          "'s",         "'S",     "'\u017F", "'ll",  "'lL",    "'re",    "'v",     "a",
      "Zebra",      "é",          "\u0301", "\u0903",  "中文", "ア",     "ー",     "1",      "23",
      "Ⅷ",          "½",          "٣",      "!",       "?!",   "_",      "😀",      "\u200D", "\U000E0001",
      "\U00016D40", "\U00010D40", "\u0378", "-",       "\"",   "(",      "<|",     "\\"};
  std::string text;
  for (size_t i = random() % 24; i > 0; --i) text += kParts[random() % std::size(kParts)];
  return text;
}

TEST(QwenSplitTest, EqualsThePatterns) {
  const CodePoints code_points;
  for (const auto& [marks, pattern] : {std::pair{QwenSplit::Marks::kApart, kQwen2Pattern},
                                       std::pair{QwenSplit::Marks::kInWords, kQwen35Pattern}}) {
    const QwenSplit scanner(marks);
    const SplitPattern matcher(pattern, code_points);
    std::mt19937 random(7);
    for (int i = 0; i < 20000; ++i) {
      const std::string text = random_text(random);
      const auto scanned =
          pieces(text, [&](std::string_view t, size_t at) { return scanner.next(code_points, t, at); });
      ASSERT_EQ(scanned, pieces(text, [&](std::string_view t, size_t at) { return matcher.next(t, at); }))
          << text;
    }
  }
}

TEST(QwenSplitTest, Pieces) {
  EXPECT_THAT(by_scanner(QwenSplit::Marks::kApart, "I'm here, it'S  42\n\n  ok "),
              ElementsAre("I", "'m", " here", ",", " it", "'S", " ", " ", "4", "2", "\n\n", " ", " ok", " "));
  EXPECT_THAT(by_scanner(QwenSplit::Marks::kApart, "a\u0320b"), ElementsAre("a", "\u0320b"));
  EXPECT_THAT(by_scanner(QwenSplit::Marks::kInWords, "a\u0320b"), ElementsAre("a\u0320b"));
  EXPECT_THAT(by_scanner(QwenSplit::Marks::kApart, "x'\u017Fy ?!\r\n\n z"),
              ElementsAre("x", "'\u017F", "y", " ?!\r\n\n", " z"));
}

TEST(SplitPatternTest, Quantifiers) {
  EXPECT_THAT(by_pattern("a{2}|b{1,2}|c{2,}", "aaabbbcccc"), ElementsAre("aa", "a", "bb", "b", "cccc"));
  EXPECT_THAT(by_pattern("a?b", "abbaab"), ElementsAre("ab", "b", "a", "ab"));
  EXPECT_THAT(by_pattern("a*b|a", "aaabaa"), ElementsAre("aaab", "a", "a"));
  EXPECT_THAT(by_pattern("a++a|b", "aaab"), ElementsAre("aaa", "b"));  // a possessive loop gives nothing back
  EXPECT_THAT(by_pattern("a+a|b", "aaab"), ElementsAre("aaa", "b"));
  EXPECT_THAT(by_pattern("é+中", "éé中é"), ElementsAre("éé中", "é"));
}

TEST(SplitPatternTest, GroupsAndLookaheads) {
  EXPECT_THAT(by_pattern("(?:ab)?c|(d|e)f", "abccdfefg"), ElementsAre("abc", "c", "df", "ef", "g"));
  EXPECT_THAT(by_pattern("a(?=b)|b(?!b)", "abba"), ElementsAre("a", "b", "b", "a"));
  EXPECT_THAT(by_pattern(R"(\s+(?!\S)|\s)", "   x"), ElementsAre("  ", " ", "x"));
}

TEST(SplitPatternTest, ClassesAndCase) {
  EXPECT_THAT(by_pattern(R"([a-c\-\]é]+|[^a-z\s]+)", "ab-]éx12 中"),
              ElementsAre("ab-]é", "x", "12", " ", "中"));
  EXPECT_THAT(by_pattern("(?i:k|s)", "kK\u212Asſx"), ElementsAre("k", "K", "\u212A", "s", "ſ", "x"));
  EXPECT_THAT(by_pattern(R"(\p{L}+|\P{L}+)", "ab12"), ElementsAre("ab", "12"));
  EXPECT_THAT(by_pattern(R"([\p{P}\p{S}]+|\p{M}+)", "a!+\u0320"), ElementsAre("a", "!+", "\u0320"));
  EXPECT_THAT(by_pattern(R"([-a]+)", "-a-b"), ElementsAre("-a-", "b"));
}

// Letters and numbers of Unicode 16.0, white space of Oniguruma.
TEST(CodePointsTest, KnowsUnicode16) {
  const CodePoints table;
  for (const uint32_t c : {0x1C89, 0x105C0, 0x16D40, 0x2EBF0}) EXPECT_TRUE(table.flags(c) & kLetter) << c;
  for (const uint32_t c : {0x0897, 0x113C5}) EXPECT_TRUE(table.flags(c) & kMark) << c;
  for (const uint32_t c : {0x10D40, 0x1CCF0}) EXPECT_TRUE(table.flags(c) & kNumber) << c;
  int spaces = 0;
  for (uint32_t c = 0; c < kCodePointCount; ++c) spaces += (table.flags(c) & kSpace) != 0;
  EXPECT_EQ(spaces, 25);
  EXPECT_TRUE(table.flags(0x85) & kSpace);
  EXPECT_FALSE(table.flags(0x180E) & kSpace);
  EXPECT_FALSE(table.flags(0x200B) & kSpace);
  EXPECT_EQ(table.flags('\n') & (kSpace | kLineEnd), kSpace | kLineEnd);
}

}  // namespace
}  // namespace d3::text
