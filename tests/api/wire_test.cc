#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/error_body.h"
#include "api/systemone.h"
#include "decision/answer.h"
#include "json/number.h"
#include "json/parse.h"
#include "json/render.h"
#include "test_paths.h"

namespace d3::api {
namespace {

using json::Value;

struct Reply {
  int status;
  Value body;
};

/// What the server would say to a body, with equal probabilities everywhere.
Reply serve(const std::string& body) {
  ServedModel model;
  model.names = {"vllm-sr/d3-tiny"};
  model.takes_media = true;
  try {
    const decision::Request request = parse_systemone(body, model);
    const std::vector<float> logits(255, 0.0F);
    std::vector<decision::Answer> answers;
    for (const decision::Question& question : request.questions)
      answers.push_back(decision::answer_question(question, logits, 1.0));
    return {200, json::parse(write_systemone(request, answers, model, {.request_id = "0123456789abcdef"}))};
  } catch (const Error& error) {
    const ErrorReply reply = make_error_reply(error);
    return {reply.status, json::parse(reply.body)};
  }
}

/// Kinds and keys of a value, in order: {"a":1,"b":["x"]} is {a:number b:[string ]}.
std::string shape(const Value& value) {
  std::string text;
  if (value.is_object()) {
    for (const json::Member& member : value.as_object()) text += member.key + ":" + shape(member.value) + " ";
    return "{" + text + "}";
  }
  if (value.is_array()) {
    for (const Value& element : value.as_array()) text += shape(element) + " ";
    return "[" + text + "]";
  }
  if (value.is_number()) return json::is_integer(value.as_number()) ? "integer" : "float";
  if (value.is_string()) return "string";
  return value.is_null() ? "null" : "boolean";
}

struct Recorded {
  std::string name;
  std::string body;
  int64_t status;
  Value answer;
};

/// What vLLM answered to bodies that are read here. Others need a server (tests/clients/wire_test.py has them
/// all), a tokenizer or an image decoder.
std::vector<Recorded> recorded_bodies() {
  const std::set<std::string> elsewhere = {"state_too_long", "images_bad_png", "images_bad_base64",
                                           "images_http_unreachable"};
  std::vector<Recorded> all;
  std::ifstream file(test::data_path("wire-vllm.jsonl"));
  for (std::string line; std::getline(file, line);) {
    const Value entry = json::parse(line);
    const Value& request = *entry.find("request");
    const Value& type = *request.find("content_type");
    const std::string& name = entry.find("name")->as_string();
    if (request.find("path")->as_string() != "/v1/systemone" ||
        request.find("method")->as_string() != "POST" || !type.is_string() ||
        !type.as_string().starts_with("application/json") || elsewhere.contains(name))
      continue;
    const Value& response = *entry.find("response");
    all.push_back({name, request.find("body")->as_string(),
                   *json::to_int64(response.find("status")->as_number()), *response.find("body")});
  }
  return all;
}

std::string legends(const Value& body) {
  std::string text;
  for (const json::Member& answer : body.find("answers")->as_object())
    if (const Value* const legend = answer.value.find("legend")) text += json::render(*legend);
  return text;
}

// vLLM 0.33's answers to requests for text, and to media that are refused by their shape: equal status and,
// for 200, equal keys, order and kinds. Every difference is a line of docs/compatibility.md.
TEST(Wire, StatusesAndShapesEqualVllms) {
  const std::map<std::string, int> other_status = {{"images_file_url", 400}};
  const std::vector<Recorded> all = recorded_bodies();
  EXPECT_EQ(all.size(), 75U);
  for (const auto& [name, body, status, theirs] : all) {
    const Reply ours = serve(body);
    const auto differs = other_status.find(name);
    const auto expected = differs != other_status.end() ? differs->second : status;
    EXPECT_EQ(ours.status, expected) << name << ": " << json::render(ours.body);
    if (ours.status == 200) {
      EXPECT_EQ(shape(ours.body), shape(theirs)) << name;
      // vLLM writes a null level as Python's None.
      EXPECT_EQ(legends(ours.body),
                name == "score_null_level" ? R"({"0": "null", "1": "x"})" : legends(theirs))
          << name;
      continue;
    }
    const Value& error = *ours.body.find("error");
    ASSERT_EQ(error.as_object().size(), 4U) << name;
    EXPECT_EQ(error.as_object()[0].key, "message") << name;
    EXPECT_EQ(error.as_object()[1].key, "type") << name;
    EXPECT_EQ(error.as_object()[2].key, "param") << name;
    EXPECT_EQ(error.as_object()[3].key, "code") << name;
    EXPECT_EQ(json::render(*error.find("code")), std::to_string(ours.status)) << name;
  }
}

// Where vLLM names a field, we name the same one (without its "body." in front).
TEST(Wire, ParamsNameVllmsFields) {
  int named = 0;
  for (const Recorded& recorded : recorded_bodies()) {
    const Value* const error = recorded.answer.find("error");
    if (error == nullptr || !error->find("param")->is_string()) continue;
    std::string theirs = error->find("param")->as_string();
    if (theirs == "body" || theirs == "body.15")
      continue;  // no field: the body itself, and a place in its text
    if (theirs.starts_with("body.")) theirs.erase(0, 5);
    const Value ours = serve(recorded.body).body;
    EXPECT_EQ(ours.find("error")->find("param")->as_string(), theirs) << recorded.name;
    ++named;
  }
  EXPECT_EQ(named, 12);
}

}  // namespace
}  // namespace d3::api
