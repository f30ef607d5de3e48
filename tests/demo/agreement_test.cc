// The demo model is the measure for number formats: on 2,000 questions of wordings that its training never
// saw (tools/demo/evaluate.py --write-questions), bfloat16 and int8 decide as float32 does, and float32 is
// mostly right.
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "decision/validation.h"
#include "demo/demo.h"
#include "engine/load.h"
#include "json/number.h"
#include "json/parse.h"
#include "server/content_coding.h"
#include "support/file_content.h"
#include "test_paths.h"

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
  std::shared_ptr<const decision::Request> request;
  size_t right = 0;  ///< the right option's place
};

std::vector<Asked> questions() {
  constexpr size_t kMostBytes = size_t{8} << 20U;
  std::istringstream lines(server::decode(
      "gzip", test::content_of(test::data_path("demo-questions.jsonl.gz")), kMostBytes, [](size_t) {}));
  std::vector<Asked> all;
  for (std::string line; all.size() < kQuestions && std::getline(lines, line);) {
    const json::Value value = json::parse(line);
    const auto right = json::to_int64(value.find("answer")->as_number());
    all.push_back({std::make_shared<decision::Request>(decision::parse_request(*value.find("request"))),
                   static_cast<size_t>(right.value())});
  }
  return all;
}

class DemoAgreement : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    asked_ = std::make_unique<std::vector<Asked>>(questions());
    float32_ = std::make_unique<std::vector<size_t>>(decisions(cpu::Dtype::kFloat32));
  }
  static void TearDownTestSuite() {
    float32_.reset();
    asked_.reset();
  }

  /// Of all questions; each is asked alone.
  static std::vector<size_t> decisions(cpu::Dtype dtype) {
    engine::LoadOptions options;
    options.directory = folder();
    options.dtype = dtype;
    const auto model = engine::load_model(options);
    std::vector<size_t> all;
    for (const Asked& asked : *asked_)
      all.push_back(model->answer(model->preparer().prepare(asked.request)).at(0).best);
    return all;
  }

  static void expect_equal_decisions(const std::vector<size_t>& decisions) {
    size_t equal = 0;
    for (size_t i = 0; i < decisions.size(); ++i) equal += decisions[i] == (*float32_)[i] ? 1 : 0;
    std::cout << equal << " of " << decisions.size() << " decisions as in float32\n";
    EXPECT_GE(static_cast<double>(equal), kEqualDecisions * static_cast<double>(decisions.size()));
  }

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

TEST_F(DemoAgreement, Bfloat16DecidesAsFloat32) { expect_equal_decisions(decisions(cpu::Dtype::kBfloat16)); }

TEST_F(DemoAgreement, Int8DecidesAsFloat32) {
  try {
    expect_equal_decisions(decisions(cpu::Dtype::kInt8));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    GTEST_SKIP() << error.what();  // without VNNI there are no exact int8 products
  }
}

}  // namespace
}  // namespace d3::demo
