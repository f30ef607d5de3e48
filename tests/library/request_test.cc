// What the C++ API's requests become, and what it refuses before a model sees it.
#include <string>
#include <vector>

#include <d3/d3.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "decision/validation.h"
#include "json/parse.h"
#include "library/convert.h"
#include "library/failure.h"

namespace d3::library {
namespace {

using testing::HasSubstr;

Request with(Question question) {
  Request request;
  request.state = "x";
  request.questions = {std::move(question)};
  return request;
}

/// The field a request is refused for; empty when it is not.
std::string field_at_fault(Request request) {
  try {
    validated(std::move(request));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), testing::StartsWith(error.field()));
    return error.field();
  }
  return {};
}

void expect_equal(const decision::Question& a, const decision::Question& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.instructions, b.instructions);
  EXPECT_EQ(a.legend, b.legend);
  ASSERT_EQ(a.options.size(), b.options.size());
  for (size_t i = 0; i < a.options.size(); ++i) {
    EXPECT_EQ(a.options[i].key, b.options[i].key);
    EXPECT_EQ(a.options[i].text, b.options[i].text);
  }
}

TEST(LibraryRequest, BecomesWhatTheSameBodyBecomes) {
  Request request;
  request.state = Content::json(R"({"b":1.0,"a":"ü"})");
  request.questions = {Question::choice("c", "Which?", {{"one", "first"}, {"two", {}}, {"three", ""}}),
                       Question::choice("d", {}, {{"json", Content::json("[1,2]")}}),
                       Question::noul("n", Content::json("null"), "yes, it is"),
                       Question::noul("m", "", {}, Content::json("0")),
                       Question::score("s", "How?", {"low", Content::json(R"({"b":1,"a":2})")})};
  const auto got = validated(std::move(request));
  const decision::Request expected = decision::parse_request(json::parse(
      R"({"state":{"b":1.0,"a":"ü"},"questions":{
          "c":{"type":"choice","instructions":"Which?","criteria":{"one":"first","two":null,"three":""}},
          "d":{"type":"choice","criteria":{"json":[1,2]}},
          "n":{"type":"noul","criteria":{"true":"yes, it is"}},
          "m":{"type":"noul","instructions":"","criteria":{"false":0}},
          "s":{"type":"score","instructions":"How?","criteria":["low",{"b":1,"a":2}]}}})"));
  EXPECT_EQ(got->state, expected.state);
  ASSERT_EQ(got->questions.size(), expected.questions.size());
  for (size_t i = 0; i < expected.questions.size(); ++i)
    expect_equal(got->questions[i], expected.questions[i]);
}

TEST(LibraryRequest, NothingIsAnEmptyState) {
  Request request = with(Question::noul("q", "?"));
  request.state = {};
  EXPECT_EQ(validated(std::move(request))->state, decision::kEmptyState);
}

TEST(LibraryRequest, NamesWhatBreaksARule) {
  EXPECT_EQ(field_at_fault({}), "questions");
  EXPECT_EQ(field_at_fault(with(Question::noul("", "?"))), "questions");
  EXPECT_EQ(field_at_fault(with(Question::choice("q", "?", {}))), "questions.q.criteria");
  EXPECT_EQ(field_at_fault(with(Question::choice("q", "?", {{"", "x"}}))), "questions.q.criteria");
  EXPECT_EQ(field_at_fault(with(Question::choice("q", "?", {{"a", "x"}, {"a", "y"}}))),
            "questions.q.criteria");
  EXPECT_EQ(field_at_fault(with(Question::score("q", "?", {"one"}))), "questions.q.criteria");
  EXPECT_EQ(field_at_fault(with(Question::score("q", "?", {"one", "one"}))), "questions.q.criteria");
  EXPECT_EQ(field_at_fault(with(Question::choice("q", "?", std::vector<Option>(256, {"a", {}})))),
            "questions.q.criteria");
}

TEST(LibraryRequest, RefusesTheSameIdTwice) {
  Request request = with(Question::noul("q", "?"));
  request.questions.push_back(Question::noul("q", "Again?"));
  EXPECT_EQ(field_at_fault(std::move(request)), "questions.q");
}

TEST(LibraryRequest, RefusesPartsOfAnotherType) {
  Question question = Question::noul("q", "?");
  question.options = {{"a", "x"}};
  EXPECT_EQ(field_at_fault(with(question)), "questions.q");
  question = Question::noul("q", "?");
  question.levels = {"a", "b"};
  EXPECT_EQ(field_at_fault(with(question)), "questions.q");
  question = Question::score("q", "?", {"a", "b"});
  question.if_false = "no";
  EXPECT_EQ(field_at_fault(with(question)), "questions.q");
}

TEST(LibraryRequest, RefusesBadUtf8AndBadJson) {
  Request request = with(Question::noul("q", "?"));
  request.state = "\xff";
  EXPECT_EQ(field_at_fault(std::move(request)), "state");
  request = with(Question::noul("q", "?"));
  request.state = Content::json("{\"a\":1} x");
  EXPECT_EQ(field_at_fault(std::move(request)), "state");
  EXPECT_EQ(field_at_fault(with(Question::noul("q", "\xc3"))), "questions.q.instructions");
  EXPECT_EQ(field_at_fault(with(Question::noul("q\xff", "?"))), "questions");
  EXPECT_EQ(field_at_fault(with(Question::choice("q", "?", {{"\xff", {}}}))), "questions.q.criteria");
  EXPECT_EQ(field_at_fault(with(Question::choice("q", "?", {{"a", Content::json("[")}}))),
            "questions.q.criteria");
}

TEST(LibraryRequest, RefusesMediaThatAreNone) {
  Request request = with(Question::noul("q", "?"));
  request.images = {Media::url("file:///etc/passwd")};
  EXPECT_EQ(field_at_fault(std::move(request)), "images[0]");
  request = with(Question::noul("q", "?"));
  request.videos = {Media::bytes({})};
  EXPECT_EQ(field_at_fault(std::move(request)), "videos[0]");
  request = with(Question::noul("q", "What is <|image_pad|>?"));
  request.images = {Media::bytes({std::byte{1}})};
  EXPECT_EQ(field_at_fault(std::move(request)), "questions.q");
}

TEST(LibraryRequest, ReadsNoMoreOfAFileThanTheLimit) {
  Request request = with(Question::noul("q", "?"));
  request.images = {Media::file("/dev/zero")};
  EXPECT_EQ(validated(std::move(request))->images[0].file.size(), 8'000'001U);
}

TEST(LibraryFailure, KeepsCodeMessageAndField) {
  const auto failed = result_of<int>([]() -> int { throw Error(ErrorCode::kOverloaded, "full", "queue"); });
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.failure().code, FailureCode::kOverloaded);
  EXPECT_EQ(failed.failure().message, "full");
  EXPECT_EQ(failed.failure().field, "queue");
  EXPECT_EQ(result_of<int>([]() -> int { throw 1; }).failure().code, FailureCode::kInternal);
  EXPECT_THAT(result_of<int>([]() -> int { throw std::bad_alloc(); }).failure().message, HasSubstr("memory"));
  EXPECT_EQ(result_of<int>([] { return 3; }).value(), 3);
  EXPECT_EQ(failure_code_name(FailureCode::kBadCheckpoint), "bad_checkpoint");
}

TEST(LibraryResultDeathTest, TakingWhatIsNotThereAborts) {
  const Result<int> failed = Failure{};
  EXPECT_DEATH(static_cast<void>(failed.value()), "");
  const Result<int> good = 1;
  EXPECT_DEATH(static_cast<void>(good.failure()), "");
}

}  // namespace
}  // namespace d3::library
