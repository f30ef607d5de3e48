#include "api/systemone.h"

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
  model.names = {"d3-nano", "vllm-sr/d3-nano"};
  return model;
}

void expect_refused(const std::string& body, ErrorCode code, const std::string& field,
                    const std::string& reason) {
  try {
    parse_systemone(body, served());
    ADD_FAILURE() << "accepted: " << body;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << body;
    EXPECT_EQ(error.field(), field) << body;
    EXPECT_THAT(error.what(), HasSubstr(reason)) << body;
  }
}

std::string with_field(const std::string& field) {
  return R"({"state":"s","questions":{"q":{"type":"noul"}},)" + field + "}";
}

TEST(Systemone, BodyIsJson) {
  expect_refused("", ErrorCode::kInvalidArgument, "", "the text is empty");
  expect_refused(R"({"state": "x", )", ErrorCode::kInvalidArgument, "", "invalid JSON");
  expect_refused(R"({"state": NaN, "questions": {}})", ErrorCode::kInvalidArgument, "",
                 "invalid JSON at byte 10");
  expect_refused(R"({"state": "\ud800", "questions": {}})", ErrorCode::kInvalidArgument, "", "surrogate");
  expect_refused("{\"state\": \"\xff\"}", ErrorCode::kInvalidArgument, "", "UTF-8");
  expect_refused(R"({"state": 1e999})", ErrorCode::kInvalidArgument, "", "beyond the range of a double");
  expect_refused("[1]", ErrorCode::kInvalidArgument, "", "must be a JSON object, not a list");
}

TEST(Systemone, ModelIsServedOrUnnamed) {
  expect_refused(with_field(R"("model":"nope")"), ErrorCode::kNotFound, "model", "`nope` is not served here");
  expect_refused(with_field(R"("model":"D3-nano")"), ErrorCode::kNotFound, "model",
                 "d3-nano, vllm-sr/d3-nano");
  expect_refused(with_field(R"("model":7)"), ErrorCode::kInvalidArgument, "model", "must be a string");
  for (const char* name : {"null", "\"\"", "\"d3-nano\"", "\"vllm-sr/d3-nano\""})
    EXPECT_NO_THROW(parse_systemone(with_field(std::string("\"model\":") + name), served())) << name;
}

TEST(Systemone, MediaNeedAModelThatTakesThem) {
  const std::string image = with_field(R"("images":["data:image/png;base64,AAAA"])");
  const std::string video = with_field(R"("videos":["https://host/x.mp4"])");
  expect_refused(image, ErrorCode::kUnsupported, "images", "takes no images");
  expect_refused(video, ErrorCode::kUnsupported, "videos", "takes no videos");
  ServedModel seeing = served();
  seeing.takes_media = true;
  EXPECT_EQ(parse_systemone(image, seeing).images.size(), 1U);
  EXPECT_EQ(parse_systemone(video, seeing).videos.size(), 1U);
  EXPECT_NO_THROW(parse_systemone(with_field(R"("images":[],"videos":[])"), served()));
}

TEST(Systemone, WritesEveryKindOfAnswer) {
  const std::string body = R"({"state":"s","questions":{
    "route":{"type":"choice","criteria":{"a \"b\"":null,"é\n":"x"}},
    "spam":{"type":"noul"},
    "risk":{"type":"score","criteria":["low",{"b":1,"a":2.50}]}}})";
  const decision::Request request = parse_systemone(body, served());
  const std::vector<decision::Answer> answers = {
      {.probabilities = {0.25, 0.75}, .best = 1},
      {.probabilities = {0.9, 0.1}, .best = 0},
      {.probabilities = {1.0, 1e-5}, .best = 0},
  };
  const ResponseInfo info{.request_id = "abc", .created = 1796186170, .input_tokens = 332};
  EXPECT_EQ(
      write_systemone(request, answers, served(), info),
      R"({"id":"decision-abc","object":"structured_decision","created":1796186170,"model":"d3-nano","answers":{)"
      R"("route":{"type":"choice","choice":"é\n","probabilities":{"a \"b\"":0.25,"é\n":0.75},"confidence":0.75},)"
      R"("spam":{"type":"noul","noul":0.1,"probabilities":{"yes":0.1,"no":0.9},"confidence":0.9},)"
      R"("risk":{"type":"score","score":1e-05,"legend":{"0":"low","1":"{\"a\":2.5,\"b\":1}"},)"
      R"("probabilities":{"0":1.0,"1":1e-05},"confidence":1.0}},)"
      R"("usage":{"input_tokens":332,"output_tokens":0},)"
      R"("diagnostics":{"route":{"label_mass":1.0,"argmax_is_label":true},)"
      R"("spam":{"label_mass":1.0,"argmax_is_label":true},"risk":{"label_mass":1.0,"argmax_is_label":true}},)"
      R"("joint":null})");
}

TEST(Systemone, TheBodysOwnIdAndNameWin) {
  const decision::Request request =
      parse_systemone(with_field(R"("request_id":"my-id","model":"vllm-sr/d3-nano")"), served());
  const std::string answer =
      write_systemone(request, std::vector<decision::Answer>{{.probabilities = {0.5, 0.5}, .best = 0}},
                      served(), {.request_id = "abc", .created = 0, .input_tokens = 1});
  EXPECT_THAT(answer, HasSubstr(R"("id":"decision-my-id")"));
  EXPECT_THAT(answer, HasSubstr(R"("model":"vllm-sr/d3-nano")"));
}

}  // namespace
}  // namespace d3::api
