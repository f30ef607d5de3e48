// The demo model is the measure for number formats: on 2,000 questions of wordings that its training never
// saw (tools/demo/evaluate.py --write-questions), bfloat16 and int8 decide as float32 does, and float32 is
// mostly right.
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "cpu/executor.h"
#include "decision/answer.h"
#include "decision/validation.h"
#include "demo/demo.h"
#include "engine/prepare.h"
#include "json/number.h"
#include "json/parse.h"
#include "server/content_coding.h"
#include "support/file_content.h"
#include "test_paths.h"
#include "text/tokenizer.h"

namespace d3::demo {
namespace {

#ifdef D3_SANITIZED
constexpr size_t kQuestions = 200;
#else
constexpr size_t kQuestions = 2000;
#endif
constexpr double kEqualDecisions = 0.995;
constexpr double kRight = 0.8;  // far under what models/demo/README.md says: this is a test of arithmetic

struct Asked {
  std::vector<int32_t> ids;  ///< the whole prompt
  decision::Question question;
  size_t right = 0;  ///< the right option's place
};

std::vector<Asked> questions(const checkpoint::Checkpoint& checkpoint) {
  constexpr size_t kMostBytes = size_t{8} << 20U;
  std::istringstream lines(server::decode(
      "gzip", test::content_of(test::data_path("demo-questions.jsonl.gz")), kMostBytes, [](size_t) {}));
  const auto tokenizer = text::Tokenizer::load(folder());
  const engine::Preparer preparer([&](std::string_view text) { return tokenizer.encode(text); },
                                  checkpoint.decision().codes, std::nullopt);
  std::vector<Asked> all;
  for (std::string line; all.size() < kQuestions && std::getline(lines, line);) {
    const json::Value value = json::parse(line);
    engine::PreparedRequest prepared = preparer.prepare(
        std::make_shared<decision::Request>(decision::parse_request(*value.find("request"))));
    std::vector<int32_t> ids = std::move(prepared.head);
    ids.insert(ids.end(), prepared.tails.at(0).begin(), prepared.tails.at(0).end());
    all.push_back({std::move(ids), prepared.request->questions.at(0),
                   static_cast<size_t>(json::to_int64(value.find("answer")->as_number()).value())});
  }
  return all;
}

class DemoAgreement : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    checkpoint_ = std::make_unique<checkpoint::Checkpoint>(checkpoint::Checkpoint::open(folder()));
    asked_ = std::make_unique<std::vector<Asked>>(questions(*checkpoint_));
    float32_ = std::make_unique<std::vector<size_t>>(decisions({.dtype = cpu::Dtype::kFloat32}));
  }
  static void TearDownTestSuite() {
    float32_.reset();
    asked_.reset();
    checkpoint_.reset();
  }

  /// The chosen options' places; each question is asked alone.
  static std::vector<size_t> decisions(const cpu::ExecutorOptions& options) {
    const auto executor = cpu::make_executor(*checkpoint_, options);
    std::vector<size_t> all;
    for (const Asked& asked : *asked_) {
      const std::vector<float> logits = executor->run({{{{}, {asked.ids}}}});
      all.push_back(
          decision::answer_question(asked.question, logits, checkpoint_->decision().temperature).best);
    }
    return all;
  }

  /// Skips where this machine has no such arithmetic.
  static void expect_equal_decisions(const cpu::ExecutorOptions& options) {
    std::vector<size_t> decided;
    try {
      decided = decisions(options);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      GTEST_SKIP() << error.what();
    }
    size_t equal = 0;
    for (size_t i = 0; i < decided.size(); ++i) equal += decided[i] == (*float32_)[i] ? 1 : 0;
    std::cout << equal << " of " << decided.size() << " decisions as in float32\n";
    EXPECT_GE(static_cast<double>(equal), kEqualDecisions * static_cast<double>(decided.size()));
  }

  static inline std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  static inline std::unique_ptr<std::vector<Asked>> asked_;
  static inline std::unique_ptr<std::vector<size_t>> float32_;
};

TEST_F(DemoAgreement, Float32IsMostlyRight) {
  ASSERT_EQ(asked_->size(), kQuestions);
  size_t right = 0;
  for (size_t i = 0; i < asked_->size(); ++i) right += (*float32_)[i] == (*asked_)[i].right ? 1 : 0;
  std::cout << right << " of " << asked_->size() << " are right\n";
  EXPECT_GE(static_cast<double>(right), kRight * static_cast<double>(asked_->size()));
}

TEST_F(DemoAgreement, Bfloat16DecidesAsFloat32) {
  expect_equal_decisions({.dtype = cpu::Dtype::kBfloat16, .arithmetic = cpu::Arithmetic::kFloat32});
}

TEST_F(DemoAgreement, Bfloat16WithRoundedActivationsDecidesAsFloat32) {
  expect_equal_decisions({.dtype = cpu::Dtype::kBfloat16, .arithmetic = cpu::Arithmetic::kBfloat16});
}

TEST_F(DemoAgreement, Int8DecidesAsFloat32) { expect_equal_decisions({.dtype = cpu::Dtype::kInt8}); }

}  // namespace
}  // namespace d3::demo
