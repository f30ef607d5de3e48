// The CPU executor against the reference's golden answers, on the three small checkpoints.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "cpu/executor.h"
#include "cpu/kernels/kernel_table.h"
#include "support/checkpoint_writer.h"
#include "support/golden.h"
#include "support/golden_answers.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::cpu {
namespace {

/// The golden questions of a checkpoint with their token ids (which only `tiny`'s file holds; the tokenizer
/// is shared).
std::vector<test::GoldenQuestion> golden_questions(const std::string& name) {
  auto golden = test::read_golden(test::data_path("golden/golden-" + name + ".jsonl"));
  const auto with_ids = test::read_golden(test::data_path("golden/golden-tiny.jsonl"));
  for (size_t i = 0; i < golden.size(); ++i) {
    if (golden[i].case_id != with_ids[i].case_id || golden[i].question != with_ids[i].question)
      throw std::runtime_error("golden files differ in order");
    golden[i].input_ids = with_ids[i].input_ids;
  }
  std::erase_if(golden, [](const test::GoldenQuestion& question) { return question.has_media(); });
  return golden;
}

class ParityTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto tokenizer = test::data_path("tokenizer-small");
    test::write_checkpoint(test::preset(GetParam(), tokenizer), tokenizer, directory_.path());
    golden_ = golden_questions(GetParam());
  }

  test::ParityReport report(const ExecutorOptions& options) {
    const auto checkpoint = checkpoint::Checkpoint::open(directory_.path());
    const auto executor = make_executor(checkpoint, options);
    std::vector<std::vector<double>> probabilities;
    for (const test::GoldenQuestion& question : golden_)
      probabilities.push_back(
          test::golden_probabilities(*executor, checkpoint.decision().temperature, question));
    return test::compare(golden_, probabilities);
  }

  test::TemporaryDirectory directory_;
  std::vector<test::GoldenQuestion> golden_;
};

TEST_P(ParityTest, Float32) {
  const auto result = report({.dtype = Dtype::kFloat32, .threads = 2, .cpu_target = {}});
  std::cout << GetParam() << " float32: " << result.text() << "\n";
  EXPECT_GE(result.questions, 52U);
  const bool rounds_its_readout = std::string(GetParam()) == "tiny-causal";
  EXPECT_TRUE(rounds_its_readout ? result.float32_equal_but_for_ties(1) : result.float32_equal())
      << result.text();
}

TEST_P(ParityTest, Bfloat16) {
  const auto result = report({.dtype = Dtype::kBfloat16, .threads = 2, .cpu_target = {}});
  std::cout << GetParam() << " bfloat16: " << result.text() << "\n";
  EXPECT_TRUE(result.bfloat16_equal()) << result.text();
}

// Small random checkpoints are no measure of int8's accuracy, but a mistake shows at once: the error stays
// within some times the reference's own bfloat16 error.
TEST_P(ParityTest, Int8) {
  const auto result = report({.dtype = Dtype::kInt8, .threads = 2, .cpu_target = {}});
  std::cout << GetParam() << " int8: " << result.text() << "\n";
  EXPECT_LE(result.ours.median, 5 * result.reference.median);
  EXPECT_LE(result.ours.p95, 5 * result.reference.p95);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ParityTest, ::testing::Values("tiny", "tiny-irregular", "tiny-causal"),
                         [](const auto& info) { return test::preset_test_name(info.param); });

}  // namespace
}  // namespace d3::cpu
