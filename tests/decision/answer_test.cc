#include "decision/answer.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::decision {
namespace {

Question with_options(size_t count) {
  Question question;
  question.options.resize(count);
  return question;
}

// The expected values are torch.softmax(torch.tensor(logits) / temperature, -1).double().tolist().
void expect_torchs(double temperature, const std::vector<double>& expected) {
  const std::vector<float> logits = {-0.381977F, -1.215164F, -3.79925F,  -1.335477F,
                                     -1.122334F, 2.381283F,  -4.235911F, 99.0F};
  const Answer answer = answer_question(with_options(7), logits, temperature);
  ASSERT_EQ(answer.probabilities.size(), expected.size());
  // A scaled logit under 16 is rounded by up to 1e-6, which is the relative error it hands on; two meet in a
  // ratio.
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(answer.probabilities[i], expected[i], expected[i] * 2e-6) << i;
  EXPECT_EQ(answer.best, 5U);
}

TEST(Answer, EqualsTorchsSoftmax) {
  expect_torchs(1.0, {0.05493771657347679, 0.02387933060526848, 0.0018020543502643704, 0.021172435954213142,
                      0.02620219625532627, 0.8708417415618896, 0.001164470100775361});
  expect_torchs(0.37,
                {0.0005704861250706017, 6.0017253417754546e-05, 5.5610442473152943e-08, 4.335671110311523e-05,
                 7.71324266679585e-05, 0.9992489218711853, 1.7085097780977776e-08});
}

TEST(Answer, DividesByTheTemperature) {
  const std::vector<float> logits = {2.0F, 0.0F};
  EXPECT_NEAR(answer_question(with_options(2), logits, 2.0).probabilities[0], 1.0 / (1.0 + std::exp(-1.0)),
              1e-7);
  EXPECT_NEAR(answer_question(with_options(2), logits, 0.25).probabilities[0], 1.0 / (1.0 + std::exp(-8.0)),
              1e-7);
}

TEST(Answer, TakesTheFirstOfEquals) {
  const std::vector<float> logits = {1.0F, 3.0F, 3.0F, 3.0F};
  EXPECT_EQ(answer_question(with_options(4), logits, 1.0).best, 1U);
  const std::vector<float> same = {7.0F, 7.0F};
  const Answer answer = answer_question(with_options(2), same, 1.0);
  EXPECT_EQ(answer.best, 0U);
  EXPECT_EQ(answer.probabilities, (std::vector<double>{0.5, 0.5}));
}

TEST(Answer, OneOptionIsCertain) {
  const std::vector<float> logits = {-1234.5F};
  EXPECT_EQ(answer_question(with_options(1), logits, 1.0).probabilities, std::vector<double>{1.0});
}

TEST(Answer, LargeLogitsDoNotOverflow) {
  const std::vector<float> logits = {30000.0F, -30000.0F};
  EXPECT_EQ(answer_question(with_options(2), logits, 1.0).probabilities, (std::vector<double>{1.0, 0.0}));
}

TEST(Answer, RefusesWhatIsNotFinite) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> logits = {0.0F, bad};
    try {
      answer_question(with_options(2), logits, 1.0);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInternal);
    }
  }
  EXPECT_THROW(answer_question(with_options(3), std::vector<float>{0.0F, 1.0F}, 1.0), Error);
}

TEST(Answer, ExpectedLevelWeighsPlaces) {
  EXPECT_DOUBLE_EQ(expected_level({.probabilities = {0.25, 0.25, 0.5}, .best = 2}), 1.25);
}

}  // namespace
}  // namespace d3::decision
