// Encoding takes work linear in the text, whatever the text; and many threads may share a tokenizer.
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "test_paths.h"
#include "text/tokenizer.h"

namespace d3::text {
namespace {

// Every hard text; and those that stand for their kind, up to a megabyte.
constexpr size_t kBytes = 100'000;
constexpr size_t kHalfMegabyte = 524'288;

std::string repeated(std::string_view part, size_t bytes) {
  std::string text;
  text.reserve(bytes + part.size());
  while (text.size() < bytes) text += part;
  return text;
}

// Work of a text of n bytes and of one of 2n: twice as much, and not much more a byte than ordinary text
// needs.
void expect_linear(const Tokenizer& tokenizer, std::string_view part, size_t bytes) {
  SCOPED_TRACE(std::string(part));
  uint64_t once = 0, twice = 0;
  const size_t ids = tokenizer.encode_counting(repeated(part, bytes), once).size();
  EXPECT_GT(ids, 0U);
  tokenizer.encode_counting(repeated(part, 2 * bytes), twice);
  EXPECT_GE(once, bytes);
  EXPECT_LE(static_cast<double>(twice), 2.05 * static_cast<double>(once));
  EXPECT_LE(once, 40 * bytes);
}

void expect_linear_on_hard_texts(const Tokenizer& tokenizer) {
  for (const std::string_view part : {"a",
                                      "ab",
                                      "the",
                                      " ",
                                      "\n",
                                      " \n",
                                      "\t ",
                                      "1",
                                      "1 ",
                                      "!",
                                      "= ",
                                      "'",
                                      "😀",
                                      "👨‍👩‍👧",
                                      "\u0301",
                                      "\u0345\u0315\u0316\u0334",
                                      "a\u0301",
                                      "e\u0345\u0301",
                                      "\u1100\u1161\u11A8",
                                      "中",
                                      "我们的",
                                      "ア",
                                      "かな",
                                      "한",
                                      "д",
                                      "é",
                                      "<|im_",
                                      "<|im_end|>",
                                      "<|im_end|",
                                      "<",
                                      "x<|im_start|>",
                                      "{\"a\":",
                                      "\\",
                                      "_",
                                      "\u200D",
                                      "\U000E0001"})
    expect_linear(tokenizer, part, kBytes);
  for (const std::string_view part : {"a", " ", "😀", "\u0301"}) expect_linear(tokenizer, part, kHalfMegabyte);
}

TEST(LinearTest, SmallTokenizer) {
  expect_linear_on_hard_texts(Tokenizer::load(test::data_path("tokenizer-small")));
}

TEST(LinearTest, Qwen35Tokenizer) {
  const auto directory = test::shared_path("fixtures/tokenizer-qwen35");
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << directory << " is not there";
  expect_linear_on_hard_texts(Tokenizer::load(directory));
}

TEST(ThreadsTest, ShareATokenizer) {
  const auto tokenizer = Tokenizer::load(test::data_path("tokenizer-small"));
  const std::string text = "Could you move it to 14:30? e\u0301 中文 <|im_end|>\n" + repeated("x", 5000);
  const auto expected = tokenizer.encode(text);
  std::vector<int> equal(4, 0);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < equal.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) equal[t] += tokenizer.encode(text) == expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 50));
}

}  // namespace
}  // namespace d3::text
