#include "api/decisions.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::api {
namespace {

using ::testing::HasSubstr;

ServedModel served() {
  ServedModel model;
  model.names = {"m"};
  model.takes_media = true;
  return model;
}

DecisionsRequest read(const std::string& body) { return parse_decisions(body, served()); }

std::string asking(const std::string& question) {
  return R"({"model":"m","input":"s","questions":[)" + question + "]}";
}

std::string about(const std::string& input) {
  return R"({"model":"m","input":)" + input + R"(,"questions":[{"type":"predicate","instructions":"y"}]})";
}

void expect_refused(const std::string& body, const std::string& field, const std::string& reason,
                    ErrorCode code = ErrorCode::kInvalidArgument) {
  try {
    read(body);
    ADD_FAILURE() << "accepted: " << body;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << body;
    EXPECT_EQ(error.field(), field) << body;
    EXPECT_THAT(error.what(), HasSubstr(reason)) << body;
  }
}

TEST(Decisions, MapsEveryKindOfQuestion) {
  const DecisionsRequest request =
      read(R"({"model":"m","input":"the text","safety_identifier":"u","cache_salt":"x",
    "prompt_cache_key":"k","prompt_cache_options":{"mode":"implicit"},"questions":[
    {"type":"predicate","instructions":"It is spam."},
    {"type":"choice","name":"team","instructions":"Which?","choices":[
      {"value":"a","description":"first"},{"value":true,"description":""},{"value":"true"},{"value":false,"description":null}]},
    {"type":"score","instructions":"","name":null,"levels":[{"label":"low"},{"label":"high","description":"really"}]}]})");
  EXPECT_EQ(request.request.model, "m");
  EXPECT_EQ(request.request.state, "the text");
  const auto& questions = request.request.questions;
  ASSERT_EQ(questions.size(), 3U);
  EXPECT_EQ(questions[0].id, "0");
  EXPECT_EQ(questions[0].type, decision::QuestionType::kNoul);
  EXPECT_EQ(questions[0].instructions, "It is spam.");
  EXPECT_EQ(questions[0].options[1].text, "Yes / true");
  EXPECT_EQ(questions[1].type, decision::QuestionType::kChoice);
  ASSERT_EQ(questions[1].options.size(), 4U);
  EXPECT_EQ(questions[1].options[0].text, "a: first");
  EXPECT_EQ(questions[1].options[1].text, "true");
  EXPECT_EQ(questions[1].options[3].key, "false");
  EXPECT_EQ(request.questions[1].name, "team");
  EXPECT_EQ(questions[2].type, decision::QuestionType::kScore);
  EXPECT_EQ(questions[2].instructions, "Choose the best matching option.");
  EXPECT_EQ(questions[2].options[1].text, "high: really");
  EXPECT_EQ(request.questions[2].name, std::nullopt);
}

TEST(Decisions, JoinsMessagesByBlankLinesAndPartsByNewlines) {
  const DecisionsRequest request = read(about(R"([
    {"role":"user","content":"one"},
    {"type":"message","role":"user","content":[{"type":"input_text","text":"two"},
      {"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"high"},
      {"type":"input_text","text":"three","prompt_cache_breakpoint":{"mode":"explicit"}},
      {"type":"input_json","data":{"k":[1.50,null]}}]},
    {"role":"user","content":[{"type":"input_image","image_url":"https://host/x.webp"}]},
    {"role":"user","content":"four"}])"));
  EXPECT_EQ(request.request.state, "one\n\ntwo\nthree\n{\"k\": [1.5, null]}\n\nfour");
  EXPECT_EQ(request.request.images, (std::vector<decision::Medium>{{.url = "data:image/png;base64,AAAA"},
                                                                   {.url = "https://host/x.webp"}}));
  EXPECT_EQ(read(about(R"("")")).request.state, "(empty)");
  EXPECT_EQ(read(about(R"([{"role":"user","content":[]}])")).request.state, "(empty)");
}

TEST(Decisions, RefusesBadTopLevels) {
  expect_refused("[]", "", "must be a JSON object");
  expect_refused(R"({"input":"x","questions":[]})", "model", "is missing");
  expect_refused(R"({"model":null,"input":"x","questions":[]})", "model", "is missing");
  expect_refused(R"({"model":"","input":"x","questions":[]})", "model", "must not be empty");
  expect_refused(R"({"model":"m","questions":[]})", "input", "is missing");
  expect_refused(R"({"model":"m","input":"x"})", "questions", "is missing");
  expect_refused(R"({"model":"m","input":"x","questions":{}})", "questions", "must be a list");
  expect_refused(R"({"model":"m","input":"x","questions":[]})", "questions", "1 to 64 questions, not 0");
  std::string many = R"({"type":"predicate","instructions":"y"})";
  for (int i = 1; i < 65; ++i) many += R"(,{"type":"predicate","instructions":"y"})";
  expect_refused(asking(many), "questions", "1 to 64 questions, not 65");
  expect_refused(R"({"model":"n","input":"x","questions":[{"type":"predicate","instructions":"y"}]})",
                 "model", "not served", ErrorCode::kNotFound);
  const std::string good =
      R"({"model":"m","input":"x","questions":[{"type":"predicate","instructions":"y"}],)";
  expect_refused(good + R"("foo":1})", "foo", "unknown field");
  expect_refused(good + R"("cache_salt":""})", "cache_salt", "must not be empty");
  expect_refused(good + R"("safety_identifier":1})", "safety_identifier", "must be a string");
}

TEST(Decisions, RefusesBadInputs) {
  for (const char* other : {"1", "{}", "true"})
    expect_refused(about(other), "input", "must be a string or a list");
  expect_refused(about("null"), "input", "is missing");
  expect_refused(about("[]"), "input", "at least one message");
  expect_refused(about(R"(["x"])"), "input.0", "must be an object");
  expect_refused(about(R"([{"content":"x"}])"), "input.0.role", "is missing");
  expect_refused(about(R"([{"role":"system","content":"x"}])"), "input.0.role", "must be user, not `system`");
  expect_refused(about(R"([{"role":"user"}])"), "input.0.content", "is missing");
  expect_refused(about(R"([{"role":"user","content":1}])"), "input.0.content", "string or a list of parts");
  expect_refused(about(R"([{"role":"user","content":"x","type":"function_call"}])"), "input.0.type",
                 "must be message");
  expect_refused(about(R"([{"role":"user","content":"x","foo":1}])"), "input.0.foo", "unknown field");
  const auto part = [](const std::string& part) {
    return about(R"([{"role":"user","content":"x"},{"role":"user","content":[)" + part + "]}]");
  };
  expect_refused(part("1"), "input.1.content.0", "must be an object");
  expect_refused(part(R"({"text":"x"})"), "input.1.content.0.type", "is missing");
  expect_refused(part(R"({"type":"input_file"})"), "input.1.content.0.type",
                 "`input_file` parts are not taken");
  expect_refused(part(R"({"type":"input_text"})"), "input.1.content.0.text", "is missing");
  expect_refused(part(R"({"type":"input_text","text":"x","foo":1})"), "input.1.content.0.foo",
                 "unknown field");
  expect_refused(part(R"({"type":"input_image"})"), "input.1.content.0.image_url", "is missing");
  expect_refused(part(R"({"type":"input_image","image_url":"file:///x"})"), "input.1.content.0.image_url",
                 "http(s)");
  expect_refused(part(R"({"type":"input_json","data":"x"})"), "input.1.content.0.data",
                 "must be an object or a list");
}

TEST(Decisions, RefusesBadQuestions) {
  expect_refused(asking("1"), "questions.0", "must be an object");
  expect_refused(asking(R"({"instructions":"y"})"), "questions.0.type", "is missing");
  expect_refused(asking(R"({"type":"noul","instructions":"y"})"), "questions.0.type",
                 "is one of predicate, choice, score");
  expect_refused(asking(R"({"type":"predicate"})"), "questions.0.instructions", "is missing");
  expect_refused(asking(R"({"type":"predicate","instructions":1})"), "questions.0.instructions",
                 "string or a list");
  expect_refused(
      asking(R"({"type":"predicate","instructions":[{"type":"input_image","image_url":"http://x/y"}]})"),
      "questions.0.instructions.0.type", "not taken here");
  expect_refused(asking(R"({"type":"predicate","instructions":"y","name":1})"), "questions.0.name",
                 "must be a string");
  expect_refused(asking(R"({"type":"predicate","instructions":"y","choices":[]})"), "questions.0.choices",
                 "unknown field");
  expect_refused(asking(R"({"type":"predicate","instructions":"y"},{"type":"x","instructions":"y"})"),
                 "questions.1.type", "is one of");
  EXPECT_EQ(
      read(
          asking(
              R"({"type":"predicate","instructions":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]})"))
          .request.questions[0]
          .instructions,
      "a\nb");
}

TEST(Decisions, RefusesBadChoicesAndLevels) {
  const auto choice = [](const std::string& choices) {
    return asking(R"({"type":"choice","instructions":"y","choices":)" + choices + "}");
  };
  expect_refused(asking(R"({"type":"choice","instructions":"y"})"), "questions.0.choices", "is missing");
  expect_refused(choice("{}"), "questions.0.choices", "must be a list");
  expect_refused(choice(R"([{"value":"a"}])"), "questions.0.choices", "2 to 255 choices, not 1");
  std::string many = R"({"value":"v0"})";
  for (int i = 1; i < 256; ++i) many += R"(,{"value":"v)" + std::to_string(i) + "\"}";
  expect_refused(choice("[" + many + "]"), "questions.0.choices", "2 to 255 choices, not 256");
  expect_refused(choice(R"(["a","b"])"), "questions.0.choices.0", "must be an object");
  expect_refused(choice(R"([{"value":"a"},{"description":"x"}])"), "questions.0.choices.1.value",
                 "is missing");
  expect_refused(choice(R"([{"value":"a"},{"value":1}])"), "questions.0.choices.1.value", "must be a string");
  expect_refused(choice(R"([{"value":"a"},{"value":""}])"), "questions.0.choices.1.value",
                 "must not be empty");
  expect_refused(choice(R"([{"value":"a"},{"value":"b"},{"value":"a"}])"), "questions.0.choices.2.value",
                 "choice 0");
  expect_refused(choice(R"([{"value":true},{"value":true}])"), "questions.0.choices.1.value", "choice 0");
  expect_refused(choice(R"([{"value":"a","description":1},{"value":"b"}])"),
                 "questions.0.choices.0.description", "must be a string");
  expect_refused(choice(R"([{"value":"a","foo":1},{"value":"b"}])"), "questions.0.choices.0.foo",
                 "unknown field");

  const auto score = [](const std::string& levels) {
    return asking(R"({"type":"score","instructions":"y","levels":)" + levels + "}");
  };
  expect_refused(asking(R"({"type":"score","instructions":"y"})"), "questions.0.levels", "is missing");
  expect_refused(score(R"([{"label":"a"}])"), "questions.0.levels", "2 to 10 levels, not 1");
  expect_refused(score(R"([{"label":"a"},{"label":""}])"), "questions.0.levels.1.label", "must not be empty");
  expect_refused(score(R"([{"label":"a"},{}])"), "questions.0.levels.1.label", "is missing");
  expect_refused(score(R"([{"label":"a"},{"label":"b","description":"c"},{"label":"a"}])"),
                 "questions.0.levels", "levels 0 and 2");
  expect_refused(score(R"([{"label":"a"},{"label":"b","foo":1}])"), "questions.0.levels.1.foo",
                 "unknown field");
}

TEST(Decisions, MediaFollowTheRulesOfTheOtherApi) {
  const std::string body =
      R"({"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"http://h/x"},
    {"type":"input_text","text":"<|image_pad|>"}]}],"questions":[{"type":"predicate","instructions":"y"}]})";
  expect_refused(body, "questions.0", "the state has a literal");
  ServedModel blind = served();
  blind.takes_media = false;
  try {
    parse_decisions(about(R"([{"role":"user","content":[{"type":"input_image","image_url":"http://h/x"}]}])"),
                    blind);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(error.field(), "images");
  }
}

TEST(Decisions, WritesEveryKindOfAnswer) {
  const DecisionsRequest request = read(R"({"model":"m","input":"s","questions":[
    {"type":"predicate","instructions":"y","name":"p \"1\""},
    {"type":"choice","instructions":"y","choices":[{"value":"true"},{"value":true}]},
    {"type":"score","instructions":"y","name":"s","levels":[{"label":"low"},{"label":"high","description":"d"}]}]})");
  const std::vector<decision::Answer> answers = {
      {.probabilities = {0.75, 0.25}, .best = 0},
      {.probabilities = {0.25, 0.75}, .best = 1},
      {.probabilities = {0.25, 0.75}, .best = 1},
  };
  EXPECT_EQ(
      write_decisions(request, answers, served(), {.request_id = "r", .created = 1, .input_tokens = 99}),
      R"({"model":"m","answers":[{"type":"predicate","name":"p \"1\"","probability":0.25},)"
      R"({"type":"choice","name":null,"choice":true,"probabilities":[{"value":"true","probability":0.25},)"
      R"({"value":true,"probability":0.75}],"confidence":0.75},)"
      R"({"type":"score","name":"s","score":0.75,"probabilities":[{"value":0,"label":"low","probability":0.25},)"
      R"({"value":1,"label":"high","probability":0.75}],"confidence":0.75}],)"
      R"("usage":{"input_tokens":99,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},)"
      R"("output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":99}})");
}

}  // namespace
}  // namespace d3::api
