#include "decision/validation.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "json/parse.h"

namespace d3::decision {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Request read(const std::string& body) { return parse_request(json::parse(body)); }

/// A body with one question `q`.
std::string asking(const std::string& question) {
  return R"({"state":"s","questions":{"q":)" + question + "}}";
}

/// A good body and one field more.
std::string with_field(const std::string& field) {
  return R"({"state":"s","questions":{"q":{"type":"noul"}},)" + field + "}";
}

void expect_refused(const std::string& body, const std::string& path, const std::string& reason) {
  try {
    read(body);
    ADD_FAILURE() << "accepted: " << body;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << body;
    EXPECT_EQ(error.field(), path) << body;
    EXPECT_THAT(error.what(), HasSubstr(reason)) << body;
    EXPECT_THAT(error.what(), StartsWith(path.empty() ? path : path + ": ")) << body;
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << body;
  }
}

/// `count` items joined by commas, the item's number for every #.
std::string many(size_t count, std::string_view item) {
  std::string list;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) list += ',';
    for (const char c : item) {
      if (c == '#')
        list += std::to_string(i);
      else
        list += c;
    }
  }
  return list;
}

TEST(Validation, BodyIsAnObject) {
  for (const char* body : {"null", "true", "1", "\"x\"", "[]", "[1]"})
    expect_refused(body, "", "must be a JSON object");
}

TEST(Validation, StateIsPresentAndMayBeNull) {
  expect_refused(R"({"questions":{"q":{"type":"noul"}}})", "state", "is missing");
  EXPECT_EQ(read(R"({"state":null,"questions":{"q":{"type":"noul"}}})").state, "(empty)");
  EXPECT_EQ(read(R"({"state":"","questions":{"q":{"type":"noul"}}})").state, "(empty)");
  EXPECT_EQ(read(R"({"state":false,"questions":{"q":{"type":"noul"}}})").state, "false");
}

TEST(Validation, QuestionsAreANonEmptyObjectOfAtMost64) {
  expect_refused(R"({"state":"s"})", "questions", "is missing");
  expect_refused(R"({"state":"s","questions":null})", "questions", "missing or null");
  expect_refused(R"({"state":"s","questions":{}})", "questions", "at least one");
  for (const char* other : {"[]", "\"q\"", "1", "true"})
    expect_refused(std::string(R"({"state":"s","questions":)") + other + "}", "questions",
                   "must be an object");
  expect_refused(R"({"state":"s","questions":{"":{"type":"noul"}}})", "questions", "ids must not be empty");
  const auto body = [](size_t count) {
    return R"({"state":"s","questions":{)" + many(count, R"("q#":{"type":"noul"})") + "}}";
  };
  expect_refused(body(65), "questions", "at most 64 questions, not 65");
  const Request request = read(body(64));
  ASSERT_EQ(request.questions.size(), 64U);
  EXPECT_EQ(request.questions[63].id, "q63");
}

TEST(Validation, AQuestionIsAnObjectOfThreeFields) {
  for (const char* other : {"null", "[]", "\"noul\"", "1"})
    expect_refused(asking(other), "questions.q", "must be an object");
  expect_refused(asking(R"({"type":"noul","foo":1})"), "questions.q.foo", "unknown field");
  expect_refused(asking(R"({"type":"noul","foo":null})"), "questions.q.foo", "unknown field");
  expect_refused(asking("{}"), "questions.q.type", "is missing");
  expect_refused(asking(R"({"instructions":"x"})"), "questions.q.type", "is missing");
  for (const char* other : {"null", "3", "[\"noul\"]"})
    expect_refused(asking(std::string(R"({"type":)") + other + "}"), "questions.q.type", "must be a string");
  for (const char* other : {"rank", "Choice", "", "noul "})
    expect_refused(asking(std::string(R"({"type":")") + other + R"("})"), "questions.q.type",
                   "is one of choice, noul, score");
}

TEST(Validation, ChoiceHas1To255NamedOptions) {
  for (const char* criteria :
       {R"(,"criteria":null)", "", R"(,"criteria":{})", R"(,"criteria":["a"])", R"(,"criteria":"a")"})
    expect_refused(asking(std::string(R"({"type":"choice")") + criteria + "}"), "questions.q.criteria",
                   "option names");
  expect_refused(asking(R"({"type":"choice","criteria":{"a":1,"":2}})"), "questions.q.criteria",
                 "must not be empty");
  const auto choice = [](size_t count) {
    return asking(R"({"type":"choice","criteria":{)" + many(count, R"("o#":null)") + "}}");
  };
  expect_refused(choice(256), "questions.q.criteria", "at most 255 options, not 256");
  EXPECT_EQ(read(choice(255)).questions[0].options.size(), 255U);
  const Request one = read(asking(R"({"type":"choice","criteria":{"a":"x","b":"y","a":""}})"));
  ASSERT_EQ(one.questions[0].options.size(), 2U);
  EXPECT_EQ(one.questions[0].options[0].text, "a: ");
  EXPECT_EQ(one.questions[0].options[0].key, "a");
}

TEST(Validation, NoulTakesOnlyTrueAndFalse) {
  for (const char* criteria : {"[]", "[\"a\"]", "\"\"", "0", "false"})
    expect_refused(asking(std::string(R"({"type":"noul","criteria":)") + criteria + "}"),
                   "questions.q.criteria", "only true and false");
  expect_refused(asking(R"({"type":"noul","criteria":{"true":"a","maybe":"b"}})"), "questions.q.criteria",
                 "not `maybe`");
  expect_refused(asking(R"({"type":"noul","criteria":{"yes":"a"}})"), "questions.q.criteria", "not `yes`");
  for (const char* criteria :
       {"", R"(,"criteria":null)", R"(,"criteria":{})", R"(,"criteria":{"true":0.0,"false":""})"}) {
    const Request request = read(asking(std::string(R"({"type":"noul")") + criteria + "}"));
    ASSERT_EQ(request.questions[0].options.size(), 2U);
    EXPECT_EQ(request.questions[0].options[0].key, "false");
    EXPECT_EQ(request.questions[0].options[0].text, "No / false");
    EXPECT_EQ(request.questions[0].options[1].key, "true");
    EXPECT_EQ(request.questions[0].options[1].text, "Yes / true");
  }
}

TEST(Validation, ScoreHas2To10DistinctLevels) {
  const auto score = [](const std::string& criteria) {
    return asking(R"({"type":"score","criteria":)" + criteria + "}");
  };
  expect_refused(asking(R"({"type":"score"})"), "questions.q.criteria", "needs a list of levels");
  for (const char* other : {"null", R"({"a":"x"})", "\"low\"", "3"})
    expect_refused(score(other), "questions.q.criteria", "needs a list of levels");
  expect_refused(score("[]"), "questions.q.criteria", "2 to 10 levels, not 0");
  expect_refused(score(R"(["low"])"), "questions.q.criteria", "2 to 10 levels, not 1");
  expect_refused(score("[" + many(11, "#") + "]"), "questions.q.criteria", "2 to 10 levels, not 11");
  EXPECT_EQ(read(score("[" + many(10, "#") + "]")).questions[0].options.size(), 10U);
  expect_refused(score(R"(["x",""])"), "questions.q.criteria", "level 1 is empty");
  expect_refused(score(R"(["a","b","a"])"), "questions.q.criteria", "levels 0 and 2 have the same text");
  expect_refused(score(R"([1,"1"])"), "questions.q.criteria", "same text");
  expect_refused(score(R"([{"a":1},{ "a" : 1 }])"), "questions.q.criteria", "same text");
}

TEST(Validation, LegendIsTextOrSortedJson) {
  const Request request = read(asking(
      R"({"type":"score","criteria":["a b",{"z":1.50,"b":[1, 2]},null,true,-0,{"b":1,"a":2},{"a":2,"b":1}]})"));
  EXPECT_EQ(request.questions[0].legend,
            (std::vector<std::string>{"a b", R"({"b":[1,2],"z":1.5})", "null", "true", "0",
                                      R"({"a":2,"b":1})", R"({"a":2,"b":1})"}));
  EXPECT_EQ(request.questions[0].options[1].text, R"({"z": 1.5, "b": [1, 2]})");
  EXPECT_EQ(request.questions[0].options[1].key, "1");
}

TEST(Validation, UnknownFieldsAreNamed) {
  expect_refused(with_field(R"("foo":1)"), "foo", "unknown field");
  expect_refused(with_field(R"("State":null)"), "State", "unknown field");
  expect_refused(with_field(R"("":1)"), "", "unknown field");
  expect_refused(with_field(R"("a\nb":1)"), "a\\nb", "unknown field");
  expect_refused(with_field("\"" + std::string(5000, 'x') + "\":1"), std::string(100, 'x') + "…",
                 "unknown field");
}

TEST(Validation, PromptIsFixed) {
  for (const char* other : {"\"x\"", "\" \""})
    expect_refused(with_field(std::string("\"instructions\":") + other), "instructions", "prompt is fixed");
  for (const char* other : {"0", "[]", "false"})
    expect_refused(with_field(std::string("\"instructions\":") + other), "instructions", "must be a string");
  EXPECT_NO_THROW(read(with_field(R"("instructions":"")")));
  EXPECT_NO_THROW(read(with_field(R"("instructions":null)")));
}

TEST(Validation, FieldsWithoutEffectHaveTheirTypes) {
  expect_refused(with_field(R"("audio":["data:audio/wav;base64,AAAA"])"), "audio", "no audio");
  expect_refused(with_field(R"("audio":"x")"), "audio", "must be a list");
  expect_refused(with_field(R"("chat_template_kwargs":[])"), "chat_template_kwargs", "must be an object");
  expect_refused(with_field(R"("joint":true)"), "joint", "must be false");
  expect_refused(with_field(R"("joint":"false")"), "joint", "must be false, not a string");
  expect_refused(with_field(R"("joint":0)"), "joint", "must be false, not a number");
  expect_refused(with_field(R"("cache_salt":"")"), "cache_salt", "must not be empty");
  expect_refused(with_field(R"("cache_salt":1)"), "cache_salt", "must be a string");
  for (const char* other : {"\"1\"", "1.5", "1e2", "true", "{}"})
    expect_refused(with_field(std::string("\"priority\":") + other), "priority", "must be an integer");
  expect_refused(with_field(R"("request_id":1)"), "request_id", "must be a string");
  expect_refused(with_field(R"("model":1)"), "model", "must be a string");
  EXPECT_NO_THROW(read(with_field(
      R"("audio":[],"chat_template_kwargs":{"enable_thinking":true},"joint":false,"cache_salt":"abc","priority":-3)")));
  EXPECT_NO_THROW(read(with_field(
      R"("audio":null,"chat_template_kwargs":null,"joint":null,"cache_salt":null,"priority":null,"images":null)")));
  const Request request = read(with_field(R"("request_id":"my-id","model":"m")"));
  EXPECT_EQ(request.request_id, "my-id");
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(read(with_field(R"("request_id":null,"model":null)")).model, "");
}

TEST(Validation, MediaAreListsOfUrls) {
  for (const char* field : {"images", "videos"}) {
    const std::string name = std::string("\"") + field + "\":";
    const std::string first = std::string(field) + "[0]";
    expect_refused(with_field(name + "\"x\""), field, "must be a list");
    expect_refused(with_field(name + "{}"), field, "must be a list");
    expect_refused(with_field(name + "[1]"), first, "must be a string");
    expect_refused(with_field(name + "[null]"), first, "must be a string");
    for (const char* url : {"", "not a url", "file:///etc/hostname", "ftp://host/x", "http://", "https://",
                            "http://a b/c", "http:/x", "http://a\\u0000b", "data:text/plain;base64,AAAA",
                            "data:image/png,AAAA", "data:video/mp4,AAAA", "data:image/png;base64,",
                            "data:;base64,AAAA", "//host/x", "/etc/passwd", "javascript:1"})
      expect_refused(with_field(name + "[\"" + url + "\"]"), first, "must be an http(s) URL or a data:");
    EXPECT_NO_THROW(read(with_field(name + "[]")));
    EXPECT_NO_THROW(read(with_field(name + R"(["http://host/x","HTTPS://host"])")));
  }
  expect_refused(with_field(R"("images":["http://a/b","data:video/mp4;base64,AAAA"])"), "images[1]",
                 "data:image/");
  expect_refused(with_field(R"("videos":["data:image/png;base64,AAAA"])"), "videos[0]", "data:video/");
  const Request request = read(with_field(
      R"("videos":["data:video/mp4;base64,AAAA"],"images":["data:image/png;base64,iVBO","DATA:Image/WebP;x=y;BASE64,A"])"));
  EXPECT_EQ(request.images, (std::vector<Medium>{{.url = "data:image/png;base64,iVBO"},
                                                 {.url = "DATA:Image/WebP;x=y;BASE64,A"}}));
  EXPECT_EQ(request.videos, std::vector<Medium>{{.url = "data:video/mp4;base64,AAAA"}});
}

TEST(Validation, MediaPlaceholdersAreNotText) {
  const std::string media[] = {R"("images":["http://a/b"])", R"("videos":["http://a/b"])"};
  const auto body = [](const std::string& state, const std::string& second, const std::string& media) {
    return R"({"state":)" + state + R"(,"questions":{"one":{"type":"noul"},"two":)" + second + "}," + media +
           "}";
  };
  for (const std::string& field : media) {
    for (const char* pad : {"<|image_pad|>", "<|video_pad|>"}) {
      const std::string text = std::string("\"a ") + pad + "\"";
      const std::string noul = R"({"type":"noul"})";
      expect_refused(body(text, noul, field), "questions.one", "the state has a literal");
      expect_refused(body("[{\"x\":" + text + "}]", noul, field), "questions.one", "the state has a literal");
      expect_refused(body("\"s\"", R"({"type":"noul","instructions":)" + text + "}", field), "questions.two",
                     "the question has a literal");
      expect_refused(body("\"s\"", R"({"type":"choice","criteria":{)" + text + ":null}}", field),
                     "questions.two", "the question has");
      expect_refused(body("\"s\"", R"({"type":"score","criteria":["x",)" + text + "]}", field),
                     "questions.two", "the question has");
      EXPECT_NO_THROW(
          read(body(text, R"({"type":"noul","instructions":)" + text + "}", R"("images":[],"videos":null)")));
    }
    EXPECT_NO_THROW(read(body(R"("<|image_pad |> <|vision_start|>")", R"({"type":"noul"})", field)));
  }
}

TEST(Validation, PathsOfStrangeIdsStayOnOneLine) {
  expect_refused(R"({"state":1,"questions":{"a.b\n\"c\"":{"type":"x"}}})", "questions.a.b\\n\\\"c\\\".type",
                 "is one of");
  std::string wide;  // cut between characters
  for (int i = 0; i < 60; ++i) wide += "漢";
  std::string kept;
  for (int i = 0; i < 33; ++i) kept += "漢";
  expect_refused(R"({"state":1,"questions":{")" + wide + R"(":1}})", "questions." + kept + "…",
                 "must be an object");
}

TEST(Validation, LevelOptionsOfAnotherApiFollowTheSameRules) {
  EXPECT_THROW(level_options({"a", "a"}, "p"), Error);
  EXPECT_THROW(check_level_count(1, "p"), Error);
  EXPECT_EQ(level_options({"a", "b"}, "p")[1].key, "1");
}

}  // namespace
}  // namespace d3::decision
