// Requests with images and videos, from the files to the probabilities, against the reference's golden
// answers.
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/load.h"
#include "support/checkpoint_writer.h"
#include "support/golden.h"
#include "support/golden_media_request.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::engine {
namespace {

class MediaParity : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto tokenizer = test::data_path("tokenizer-small");
    test::write_checkpoint(test::preset(GetParam(), tokenizer), tokenizer, directory_.path());
    for (auto& question :
         test::read_golden(test::data_path("golden/golden-" + std::string(GetParam()) + ".jsonl")))
      if (question.has_media()) golden_[question.case_id + "/" + question.question] = std::move(question);
  }

  std::unique_ptr<DecisionModel> load(cpu::Dtype dtype) const {
    // tiny-causal's own limit is 512 tokens; its golden answers are to longer prompts, too.
    LoadOptions options;
    options.directory = directory_.path();
    options.dtype = dtype;
    options.threads = 2;
    options.max_length = 100'000;
    return load_model(options);
  }

  test::ParityReport report(DecisionModel& model) const {
    std::vector<test::GoldenQuestion> questions;
    std::vector<std::vector<double>> probabilities;
    for (const test::GoldenCase& golden : test::read_golden_cases(test::data_path("golden/media.jsonl"))) {
      PreparedRequest prepared = model.preparer().prepare(test::media_request(golden));
      const auto request = prepared.request;
      const std::vector<decision::Answer> answers = model.answer(std::move(prepared));
      for (size_t i = 0; i < answers.size(); ++i) {
        questions.push_back(golden_.at(golden.id + "/" + request->questions[i].id));
        probabilities.push_back(answers[i].probabilities);
      }
    }
    EXPECT_EQ(questions.size(), golden_.size());
    return test::compare(questions, probabilities);
  }

  test::TemporaryDirectory directory_;
  std::map<std::string, test::GoldenQuestion> golden_;
};

TEST_P(MediaParity, Float32) {
  const auto model = load(cpu::Dtype::kFloat32);
  const auto first = report(*model);
  std::cout << GetParam() << " float32: " << first.text() << "\n";
  const bool rounds_its_readout = std::string(GetParam()) == "tiny-causal";
  EXPECT_TRUE(rounds_its_readout ? first.float32_equal_but_for_ties(2) : first.float32_equal())
      << first.text();
  EXPECT_LE(rounds_its_readout ? first.ours.median : first.ours.p95, 1e-5) << first.text();

  // The same again is answered from the cache, and equally.
  const auto before = model->engine().vision_cache().counters();
  const auto second = report(*model);
  const auto after = model->engine().vision_cache().counters();
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_GT(after.hits, before.hits);
  EXPECT_EQ(second.ours.max, first.ours.max);
}

TEST_P(MediaParity, Bfloat16) {
  const auto model = load(cpu::Dtype::kBfloat16);
  const auto result = report(*model);
  std::cout << GetParam() << " bfloat16: " << result.text() << "\n";
  EXPECT_TRUE(result.bfloat16_equal()) << result.text();
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, MediaParity, ::testing::Values("tiny", "tiny-irregular", "tiny-causal"),
                         [](const auto& info) { return test::preset_test_name(info.param); });

}  // namespace
}  // namespace d3::engine
