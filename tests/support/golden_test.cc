#include "support/golden.h"

#include <limits>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/checkpoint_writer.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::test {
namespace {

using ::testing::ElementsAre;

TEST(Golden, FilesHoldEveryQuestionOfTheTextCases) {
  const std::vector<GoldenCase> cases = read_golden_cases(data_path("golden/text.jsonl"));
  std::multiset<std::pair<std::string, std::string>> asked;
  for (const GoldenCase& golden_case : cases)
    for (const json::Member& question : golden_case.request.find("questions")->as_object())
      asked.emplace(golden_case.id, question.key);
  ASSERT_EQ(asked.size(), 53U);
  for (const std::string name : {"tiny", "tiny-irregular", "tiny-causal"}) {
    const std::vector<GoldenQuestion> golden = read_golden(data_path("golden/golden-" + name + ".jsonl"));
    EXPECT_EQ(golden.size(), 104U);
    std::multiset<std::pair<std::string, std::string>> answered;
    for (const GoldenQuestion& question : golden) {
      if (!question.has_media()) answered.emplace(question.case_id, question.question);
      EXPECT_EQ(question.input_ids.size(), name == "tiny" ? static_cast<size_t>(question.tokens) : 0U);
    }
    EXPECT_EQ(answered, asked) << name;
  }
}

TEST(Golden, ReadsTheFieldsOfALine) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "golden.jsonl";
  write_file(
      path,
      R"({"case": "c", "question": "q", "tokens": 3, "input_ids": [5, 6, 7], "logits_float32": [1.5, -2],)"
      R"( "probabilities_float32": [0.75, 0.25], "logits_bfloat16": [1, -2], "probabilities_bfloat16":)"
      R"( [0.7, 0.3], "image_grid_thw": [[1, 4, 6]]})"
      "\n");
  const std::vector<GoldenQuestion> golden = read_golden(path);
  ASSERT_EQ(golden.size(), 1U);
  EXPECT_EQ(golden[0].case_id, "c");
  EXPECT_EQ(golden[0].question, "q");
  EXPECT_EQ(golden[0].tokens, 3);
  EXPECT_THAT(golden[0].input_ids, ElementsAre(5, 6, 7));
  EXPECT_THAT(golden[0].logits_float32, ElementsAre(1.5, -2));
  EXPECT_THAT(golden[0].probabilities_float32, ElementsAre(0.75, 0.25));
  EXPECT_THAT(golden[0].logits_bfloat16, ElementsAre(1, -2));
  EXPECT_THAT(golden[0].probabilities_bfloat16, ElementsAre(0.7, 0.3));
  EXPECT_THAT(golden[0].image_grid_thw, ElementsAre(std::array<int, 3>{1, 4, 6}));
  EXPECT_TRUE(golden[0].video_grid_thw.empty());

  write_file(path, "{\"case\": \"c\"}\n");
  EXPECT_THROW(read_golden(path), std::runtime_error);
}

TEST(Golden, SummarizesErrors) {
  const ErrorSummary none = summarize({});
  EXPECT_EQ(none.max, 0);
  std::vector<double> errors;
  for (int i = 100; i >= 1; --i) errors.push_back(i);
  const ErrorSummary summary = summarize(errors);
  EXPECT_EQ(summary.median, 50.5);
  EXPECT_EQ(summary.p95, 95);
  EXPECT_EQ(summary.max, 100);
  EXPECT_EQ(summarize({3, 1, 2}).median, 2);
  EXPECT_EQ(summarize({7}).p95, 7);
  EXPECT_EQ(largest_difference(std::vector<double>{0, std::numeric_limits<double>::quiet_NaN()},
                               std::vector<double>{0, 1}),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(largest_difference(std::vector<double>{0}, std::vector<double>{0, 1}),
            std::numeric_limits<double>::infinity());
}

GoldenQuestion question_of(std::vector<double> truth, std::vector<double> bfloat16) {
  GoldenQuestion question;
  question.case_id = "c";
  question.question = "q";
  question.probabilities_float32 = std::move(truth);
  question.probabilities_bfloat16 = std::move(bfloat16);
  return question;
}

TEST(Golden, JudgesFloat32) {
  const std::vector<GoldenQuestion> golden = {question_of({0.6, 0.4}, {0.61, 0.39}),
                                              question_of({0.50001, 0.49999}, {0.5, 0.5})};
  EXPECT_TRUE(compare(golden, std::vector<std::vector<double>>{{0.60009, 0.39991}, {0.50001, 0.49999}})
                  .float32_equal());
  EXPECT_FALSE(compare(golden, std::vector<std::vector<double>>{{0.6002, 0.3998}, {0.50001, 0.49999}})
                   .float32_equal());
  const ParityReport flipped =
      compare(golden, std::vector<std::vector<double>>{{0.6, 0.4}, {0.49999, 0.50001}});
  EXPECT_FALSE(flipped.float32_equal());
  ASSERT_EQ(flipped.changed.size(), 1U);
  EXPECT_NEAR(flipped.changed[0].gap, 2e-5, 1e-12);
  EXPECT_THAT(flipped.text(), ::testing::HasSubstr("changed: c q"));
  EXPECT_THROW(compare(golden, std::vector<std::vector<double>>{{0.6, 0.4}}), std::invalid_argument);
}

TEST(Golden, JudgesBfloat16ByTheReferencesOwnError) {
  // The reference's errors are 0.02, 0.04 and 0.10.
  const std::vector<GoldenQuestion> golden = {question_of({0.70, 0.30}, {0.72, 0.28}),
                                              question_of({0.55, 0.45}, {0.51, 0.49}),
                                              question_of({0.90, 0.10}, {0.80, 0.20})};
  const auto judge = [&](double first, double second, double third) {
    return compare(
               golden,
               std::vector<std::vector<double>>{{first, 1 - first}, {second, 1 - second}, {third, 1 - third}})
        .bfloat16_equal();
  };
  EXPECT_TRUE(judge(0.72, 0.51, 0.80));
  EXPECT_TRUE(judge(0.70, 0.55, 0.90));
  EXPECT_FALSE(judge(0.72, 0.50, 0.80)) << "the median is 0.05";
  EXPECT_FALSE(judge(0.70, 0.55, 0.79)) << "the 95th percentile is 0.11";
  EXPECT_FALSE(judge(0.70, 0.55, 0.70)) << "the maximum is 0.2";

  const std::vector<GoldenQuestion> close = {question_of({0.52, 0.48}, {0.62, 0.38})};
  EXPECT_TRUE(compare(close, std::vector<std::vector<double>>{{0.49, 0.51}}).bfloat16_equal())
      << "a tie within 0.1";
  const std::vector<GoldenQuestion> clear = {question_of({0.56, 0.44}, {0.46, 0.54})};
  EXPECT_FALSE(compare(clear, std::vector<std::vector<double>>{{0.49, 0.51}}).bfloat16_equal())
      << "no tie: 0.12";
}

// The reference's own float32 answers must pass, its bfloat16 ones by construction of the rule.
TEST(Golden, TheReferencePassesItsOwnJudgement) {
  const std::vector<GoldenQuestion> golden = read_golden(data_path("golden/golden-tiny.jsonl"));
  std::vector<std::vector<double>> float32, bfloat16;
  for (const GoldenQuestion& question : golden) {
    float32.push_back(question.probabilities_float32);
    bfloat16.push_back(question.probabilities_bfloat16);
  }
  EXPECT_TRUE(compare(golden, float32).float32_equal());
  EXPECT_TRUE(compare(golden, bfloat16).bfloat16_equal()) << compare(golden, bfloat16).text();
}

}  // namespace
}  // namespace d3::test
