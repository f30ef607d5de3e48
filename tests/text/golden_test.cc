// The tokenizers of the golden data give the ids of the reference.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "test_paths.h"
#include "text/tokenizer.h"

namespace d3::text {
namespace {

// Encodes every "text" of a file of JSON lines and compares with its ids under `key`.
void expect_golden(const Tokenizer& tokenizer, const std::filesystem::path& cases, const char* key,
                   size_t count) {
  std::ifstream in(cases);
  ASSERT_TRUE(in) << cases;
  simdjson::dom::parser parser;
  size_t lines = 0, different = 0;
  for (std::string line; std::getline(in, line); ++lines) {
    const simdjson::dom::element row = parser.parse(line);
    std::vector<int32_t> expected;
    for (const int64_t id : row[key].get_array()) expected.push_back(static_cast<int32_t>(id));
    const std::string text(row["text"].get_string().value());
    const auto ids = tokenizer.encode(text);
    if (ids != expected && ++different <= 5) ADD_FAILURE() << "line " << lines + 1 << ": " << text;
  }
  EXPECT_EQ(different, 0U);
  EXPECT_EQ(lines, count);
}

void expect_codes(const Tokenizer& tokenizer, const std::filesystem::path& file) {
  simdjson::dom::parser parser;
  simdjson::dom::element golden;
  ASSERT_FALSE(parser.load(file.string()).get(golden)) << file;
  const AnswerCodes derived = derive_answer_codes(tokenizer);
  ASSERT_EQ(derived.codes.size(), 255U);
  ASSERT_EQ(derived.token_ids.size(), 255U);
  ASSERT_EQ(golden["codes"].get_array().size(), 255U);
  for (size_t i = 0; i < 255; ++i) {
    EXPECT_EQ(derived.codes[i], golden["codes"].at(i).get_string().value());
    EXPECT_EQ(derived.token_ids[i], golden["token_ids"].at(i).get_int64().value());
  }
}

TEST(GoldenTest, SmallTokenizer) {
  const auto tokenizer = Tokenizer::load(test::data_path("tokenizer-small"));
  EXPECT_EQ(tokenizer.vocab_size(), 1930);
  expect_golden(tokenizer, test::data_path("tokenizer_small_cases.jsonl"), "ids", 1503);
  expect_codes(tokenizer, test::data_path("tokenizer-small/codes.json"));
}

TEST(GoldenTest, Qwen35Tokenizer) {
  const auto directory = test::shared_path("fixtures/tokenizer-qwen35");
  const auto cases = test::shared_path("fixtures/cases/tokenizer.jsonl");
  if (!std::filesystem::exists(cases)) GTEST_SKIP() << cases << " is not there";
  const auto tokenizer = Tokenizer::load(directory);
  EXPECT_EQ(tokenizer.vocab_size(), 248077);
  expect_golden(tokenizer, cases, "qwen35", 1827);
  expect_codes(tokenizer, directory / "codes.json");
}

TEST(GoldenTest, SmallTokenizerOnAllTexts) {
  const auto cases = test::shared_path("fixtures/cases/tokenizer.jsonl");
  if (!std::filesystem::exists(cases)) GTEST_SKIP() << cases << " is not there";
  expect_golden(Tokenizer::load(test::shared_path("fixtures/tokenizer-small")), cases, "small", 1827);
}

}  // namespace
}  // namespace d3::text
