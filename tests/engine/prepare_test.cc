#include "engine/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::engine {
namespace {

/// One token a byte: lengths and boundaries are then plain to see.
std::vector<int32_t> bytes(std::string_view text) { return {text.begin(), text.end()}; }

std::shared_ptr<decision::Request> make_request() {
  auto request = std::make_shared<decision::Request>();
  request->state = "The parcel is late.";
  for (const char* id : {"route", "tone"}) {
    decision::Question question;
    question.id = id;
    question.instructions = std::string("Choose the ") + id;
    question.options = {{"a", "a: one"}, {"b", "b: two"}};
    request->questions.push_back(std::move(question));
  }
  return request;
}

std::string text_of(const std::vector<int32_t>& ids) { return {ids.begin(), ids.end()}; }

TEST(Preparer, TokenizesTheHeadOnceAndATailForEachQuestion) {
  const Preparer preparer(bytes, {"A", "B"}, std::nullopt);
  const auto request = make_request();
  const PreparedRequest prepared = preparer.prepare(request);
  ASSERT_EQ(prepared.tails.size(), 2U);
  EXPECT_THAT(text_of(prepared.head), testing::EndsWith("State:\nThe parcel is late.\n\n"));
  EXPECT_THAT(text_of(prepared.tails[0]),
              testing::StartsWith("Question:\nChoose the route\n\nOptions:\nA: a: one\n"));
  EXPECT_THAT(text_of(prepared.tails[1]), testing::StartsWith("Question:\nChoose the tone\n"));
  EXPECT_EQ(prepared.request, request);
  EXPECT_EQ(preparer.prompt_text(*request, 1), text_of(prepared.head) + text_of(prepared.tails[1]));
  EXPECT_EQ(
      prepared.total_tokens(),
      static_cast<int64_t>(2 * prepared.head.size() + prepared.tails[0].size() + prepared.tails[1].size()));
}

TEST(Preparer, RefusesAPromptOverTheLimitNamingQuestionLengthAndLimit) {
  const auto request = make_request();
  const PreparedRequest prepared = Preparer(bytes, {"A", "B"}, std::nullopt).prepare(request);
  const int64_t first = prepared.question_tokens(0);
  const int64_t second = prepared.question_tokens(1);
  ASSERT_GT(first, second);  // "route" is longer than "tone"
  EXPECT_NO_THROW(Preparer(bytes, {"A", "B"}, first).prepare(request));
  std::swap(request->questions[0], request->questions[1]);
  try {
    Preparer(bytes, {"A", "B"}, second).prepare(request);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.field(), "questions.route");
    EXPECT_EQ(error.what(), "questions.route: the prompt has " + std::to_string(first) +
                                " tokens, the limit is " + std::to_string(second));
  }
}

TEST(Preparer, RefusesMediaInsteadOfIgnoringIt) {
  const Preparer preparer(bytes, {"A", "B"}, std::nullopt);
  auto request = make_request();
  request->images = {{.url = "https://example.com/a.png"}};
  try {
    preparer.prepare(request);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "images");
  }
}

}  // namespace
}  // namespace d3::engine
