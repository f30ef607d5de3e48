#include "decision/prompt.h"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "decision/validation.h"
#include "json/parse.h"
#include "test_paths.h"

namespace d3::decision {
namespace {

const std::vector<std::string> kCodes = {"A", "B"};

// tools/golden/prompts.py wrote these with the reference and its chat template: the cases of text.jsonl, and
// requests with every kind of value, empty and not, for state, instructions and criteria.
TEST(Prompt, EqualsTheReferencesTemplate) {
  std::ifstream file(test::data_path("prompts.jsonl"));
  ASSERT_TRUE(file);
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  std::vector<std::string> codes;
  const json::Value head = json::parse(line);
  for (const json::Value& code : head.find("codes")->as_array()) codes.push_back(code.as_string());
  size_t prompts = 0;
  while (std::getline(file, line)) {
    const json::Value golden = json::parse(line);
    const std::string& body = golden.find("body")->as_string();
    const Request request = parse_request(json::parse(body));
    const json::Object& expected = golden.find("prompts")->as_object();
    ASSERT_EQ(request.questions.size(), expected.size()) << body;
    for (size_t i = 0; i < expected.size(); ++i, ++prompts) {
      EXPECT_EQ(request.questions[i].id, expected[i].key);
      EXPECT_EQ(prompt_head(request) + prompt_tail(request.questions[i], codes),
                expected[i].value.as_string())
          << body;
    }
  }
  EXPECT_EQ(prompts, 235U);
}

TEST(Prompt, IsCutBetweenNewlinesAndALetter) {
  Request request;
  request.state = "ends in spaces \n\n";
  request.images.resize(2);
  request.videos.resize(1);
  const std::string head = prompt_head(request);
  EXPECT_TRUE(head.ends_with(" \n\n\n\n"));
  EXPECT_NE(
      head.find("<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|><|vision_start|><|image_pad|>"
                "<|vision_end|><|vision_start|><|video_pad|><|vision_end|>State:\nends"),
      std::string::npos);
  Question question;
  question.instructions = "Why?";
  question.options = {{"k", "text"}};
  EXPECT_EQ(prompt_tail(question, kCodes),
            "Question:\nWhy?\n\nOptions:\nA: text\n\nReply with only the code of the best option."
            "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

TEST(Prompt, NeedsACodeForEveryOption) {
  Question question;
  question.options = {{"a", "a"}, {"b", "b"}, {"c", "c"}};
  try {
    prompt_tail(question, kCodes);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace d3::decision
