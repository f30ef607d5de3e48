// What an executor promises beyond parity: answers do not depend on company, and savings change nothing.
#include "cpu/executor.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cpu/kernels/kernel_table.h"
#include "support/checkpoint_writer.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::cpu {
namespace {

using Ids = std::vector<int32_t>;

Ids random_ids(std::mt19937& random, size_t count) {
  Ids ids(count);
  for (int32_t& id : ids) id = std::uniform_int_distribution<int32_t>(0, 1800)(random);
  return ids;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = a.size() == b.size() ? 0.0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  return largest;
}

/// A checkpoint and its executor.
class ExecutorTest : public ::testing::TestWithParam<std::tuple<const char*, Dtype>> {
 protected:
  void SetUp() override {
    const auto tokenizer = test::data_path("tokenizer-small");
    test::write_checkpoint(test::preset(std::get<0>(GetParam()), tokenizer), tokenizer, directory_.path());
    checkpoint_ = std::make_unique<checkpoint::Checkpoint>(checkpoint::Checkpoint::open(directory_.path()));
    executor_ = executor(std::get<1>(GetParam()));
  }

  std::unique_ptr<model::Executor> executor(Dtype dtype) const {
    return make_executor(*checkpoint_, {.dtype = dtype, .threads = 2, .cpu_target = {}});
  }

  /// The largest error of int8's logits, against float32's, over a few questions.
  double int8_error() const {
    std::mt19937 random(4);
    model::PackedBatch batch;
    std::vector<Ids> questions;
    for (const size_t length : {5, 33, 130, 257}) questions.push_back(random_ids(random, length));
    for (const Ids& ids : questions) batch.groups.push_back({{}, {ids}});
    return largest_difference(executor(Dtype::kFloat32)->run(batch), executor(Dtype::kInt8)->run(batch));
  }

  /// Logits move by rounding only. Rows in other places of a product round alike, but a shared prefix and the
  /// kernels' chunks start elsewhere; in the narrow formats one rounding step in a logit of size 4 is the
  /// bound.
  /// In float32 a bf16 readout (tiny-causal's) rounds its logits, so there a change of 1e-7 may become one
  /// such step.
  double tolerance() const {
    // A change of 1e-7 may round an activation to the next of int8's few values, which these random layers
    // amplify as they do int8's own error: a saving may not add more than half of that.
    if (std::get<1>(GetParam()) == Dtype::kInt8) return int8_error() / 2;
    if (std::get<1>(GetParam()) != Dtype::kFloat32) return 0.12;
    return checkpoint_->decision().readout_dtype == checkpoint::ReadoutDtype::kBfloat16 ? 0.04 : 1e-4;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::unique_ptr<model::Executor> executor_;
};

TEST_P(ExecutorTest, CompanyDoesNotChangeAnAnswer) {
  const double tolerance = this->tolerance();
  std::mt19937 random(1);
  std::vector<Ids> questions;
  for (const size_t length : {5, 130, 1, 64, 257, 33}) questions.push_back(random_ids(random, length));
  std::vector<std::vector<float>> alone;
  for (const Ids& ids : questions) alone.push_back(executor_->run({{{{}, {ids}}}}));
  std::vector<size_t> order = {0, 1, 2, 3, 4, 5};
  for (int round = 0; round < 3; ++round) {
    model::PackedBatch batch;
    for (const size_t i : order) batch.groups.push_back({{}, {questions[i]}});
    const auto together = executor_->run(batch);
    for (size_t place = 0; place < order.size(); ++place)
      EXPECT_LE(largest_difference(alone[order[place]], std::span(together).subspan(place * 255, 255)),
                tolerance);
    std::shuffle(order.begin(), order.end(), random);
  }
}

TEST_P(ExecutorTest, SavingsChangeNothing) {
  const double tolerance = this->tolerance();
  std::mt19937 random(2);
  const Ids prefix = random_ids(random, 150);
  const std::vector<Ids> tails = {random_ids(random, 40), random_ids(random, 7), random_ids(random, 2)};
  const Ids other = random_ids(random, 60);
  const model::PackedBatch batch{
      {{prefix, {tails[0], tails[1], tails[2]}}, {{}, {other}}, {prefix, {tails[1]}}}};
  executor_->set_options({.share_prefixes = false, .cut_last_layer = false});
  const auto plain = executor_->run(batch);
  const auto before = executor_->counters();
  EXPECT_EQ(before.layer_rows, before.layer_rows_full);
  executor_->set_options({.share_prefixes = true, .cut_last_layer = true});
  const auto saved = executor_->run(batch);
  EXPECT_LE(largest_difference(plain, saved), tolerance);
  const auto after = executor_->counters();
  EXPECT_EQ(after.layer_rows_full, 2 * before.layer_rows_full);
  EXPECT_LT(after.layer_rows - before.layer_rows, before.layer_rows);
  EXPECT_EQ(after.questions, 10U);
  EXPECT_EQ(after.tokens, 2U * (3 * 150 + 49 + 60 + 157));
  // The same tail on the same prefix, shared or alone, is the same question.
  EXPECT_LE(largest_difference(std::span(saved).subspan(255, 255), std::span(saved).last(255)), tolerance);
}

TEST_P(ExecutorTest, RunsTheSameTwice) {
  std::mt19937 random(3);
  const Ids ids = random_ids(random, 99);
  const auto first = executor_->run({{{{}, {ids}}}});
  const Ids longer = random_ids(random, 700);
  executor_->run({{{{}, {longer}}}});
  EXPECT_EQ(first, executor_->run({{{{}, {ids}}}}));
}

TEST_P(ExecutorTest, RefusesWrongTokens) {
  const Ids high = {0, 5, 1 << 30};
  const Ids negative = {-1};
  const Ids good = {1, 2, 3};
  EXPECT_THROW(executor_->run({{{{}, {high}}}}), Error);
  EXPECT_THROW(executor_->run({{{negative, {good}}}}), Error);
  EXPECT_THROW(executor_->run({{{good, {Ids{}}}}}), Error);
  EXPECT_TRUE(executor_->run({}).empty());
  EXPECT_EQ(executor_->run({{{{}, {good}}}}).size(), 255U);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ExecutorTest,
                         ::testing::Combine(::testing::Values("tiny", "tiny-irregular", "tiny-causal"),
                                            ::testing::Values(Dtype::kFloat32, Dtype::kBfloat16,
                                                              Dtype::kInt8)),
                         [](const auto& info) {
                           return test::preset_test_name(std::get<0>(info.param)) + "_" +
                                  std::string(dtype_name(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace d3::cpu
