#include "text/nfc.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace d3::text {
namespace {

std::string nfc(std::string_view text) {
  const CodePoints code_points;
  const Nfc normalizer(code_points);
  std::string storage;
  return std::string(normalizer.normalize(text, storage));
}

TEST(NfcTest, ReturnsTheTextItselfWhereNothingChanges) {
  const CodePoints code_points;
  const Nfc normalizer(code_points);
  std::string storage;
  const std::string text = "plain é 中文 한국어 ελληνικά 😀";
  EXPECT_EQ(normalizer.normalize(text, storage).data(), text.data());
}

TEST(NfcTest, ComposesAndOrders) {
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("xe\u0301y"), "x\u00E9y");
  EXPECT_EQ(nfc("a\u0301\u0328"), "\u0105\u0301");        // ogonek (202) before acute (230), then ą
  EXPECT_EQ(nfc("\u1E9B\u0323"), "\u1E9B\u0323");         // Annex 15's example
  EXPECT_EQ(nfc("\u212B\u2126\u212A"), "\u00C5\u03A9K");  // singletons
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");               // excluded from composition
  EXPECT_EQ(nfc("\u0344"), "\u0308\u0301");
  EXPECT_EQ(nfc("\uFA1D\U0002F800"), "\u7CBE\u4E3D");  // compatibility ideographs
  EXPECT_EQ(nfc("\u0301a"), "\u0301a");                // a mark without a letter
  EXPECT_EQ(nfc("a\u0300\u0301"), "\u00E0\u0301");     // the second of one class stays
  EXPECT_EQ(nfc("a\u034F\u0301"), "a\u034F\u0301");    // a starter between blocks
  EXPECT_EQ(nfc("\u3046\u3099\u304B\u3099"), "\u3094\u304C");
  EXPECT_EQ(nfc("\u09C7\u09BE"), "\u09CB");  // two starters compose
}

TEST(NfcTest, Hangul) {
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(nfc("\uD558\u11AB"), "\uD55C");
  EXPECT_EQ(nfc("\uD55C\u11AB"), "\uD55C\u11AB");
  EXPECT_EQ(nfc("\u1161\u11AB"), "\u1161\u11AB");
  EXPECT_EQ(nfc("\u1112\u1161\u0301\u11AB"), "\uD558\u0301\u11AB");
  EXPECT_EQ(nfc("\u1112\u1161\u11A7"), "\uD558\u11A7");  // U+11A7 is no final consonant
}

// The reference's tables are Unicode 9.0's: what came later is not reordered and does not compose.
TEST(NfcTest, KnowsUnicode9) {
  EXPECT_EQ(nfc("\u0345\u08D4"), "\u08D4\u0345");  // new in 9.0: class 230 goes before 240
  EXPECT_EQ(nfc("\u0345\u07FD"), "\u0345\u07FD");  // 11.0
  EXPECT_EQ(nfc("\u0345\u1DFA"), "\u0345\u1DFA");  // 14.0
  EXPECT_EQ(nfc("\U00011938"), "\U00011938");      // 13.0
  EXPECT_EQ(nfc("\U00011935\U00011930"), "\U00011935\U00011930");
}

TEST(NfcTest, OrdersLongRunsOfMarks) {
  std::string mixed = "a", ordered = "a";
  for (int i = 0; i < 1000; ++i) mixed += "\u0345\u0315\u0316\u0334";  // classes 240, 232, 220, 1
  for (const char* mark : {"\u0334", "\u0316", "\u0315", "\u0345"})
    for (int i = 0; i < 1000; ++i) ordered += mark;
  EXPECT_EQ(nfc(mixed), ordered);
}

}  // namespace
}  // namespace d3::text
