#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/error_body.h"
#include "api/models.h"
#include "json/parse.h"

namespace d3::api {
namespace {

TEST(ErrorBody, HasOneShape) {
  const ErrorReply reply =
      make_error_reply(Error(ErrorCode::kInvalidArgument, "questions.q: \"no\"", "questions.q"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(
      reply.body,
      R"({"error":{"message":"questions.q: \"no\"","type":"BadRequestError","param":"questions.q","code":400}})");
  EXPECT_EQ(make_error_reply(Error(ErrorCode::kNotFound, "no such path")).body,
            R"({"error":{"message":"no such path","type":"NotFoundError","param":null,"code":404}})");
  const ErrorReply internal = make_internal_error_reply();
  EXPECT_EQ(internal.status, 500);
  EXPECT_EQ(internal.body,
            R"({"error":{"message":"internal error","type":"InternalServerError","param":null,"code":500}})");
}

TEST(ErrorBody, EveryCodeHasItsStatus) {
  const std::pair<ErrorCode, int> table[] = {{ErrorCode::kInvalidArgument, 400},
                                             {ErrorCode::kUnauthenticated, 401},
                                             {ErrorCode::kNotFound, 404},
                                             {ErrorCode::kMethodNotAllowed, 405},
                                             {ErrorCode::kRequestTimeout, 408},
                                             {ErrorCode::kPayloadTooLarge, 413},
                                             {ErrorCode::kUnsupportedMediaType, 415},
                                             {ErrorCode::kOverloaded, 429},
                                             {ErrorCode::kUnavailable, 503},
                                             {ErrorCode::kDeadlineExceeded, 504},
                                             {ErrorCode::kCancelled, 499},
                                             {ErrorCode::kBadCheckpoint, 500},
                                             {ErrorCode::kUnsupported, 400},
                                             {ErrorCode::kInternal, 500}};
  for (const auto& [code, status] : table) {
    EXPECT_EQ(http_status(code), status) << error_code_name(code);
    EXPECT_TRUE(error_type(code).ends_with("Error")) << error_code_name(code);
  }
}

TEST(ErrorBody, StaysJsonWhateverTheClientSent) {
  const ErrorReply reply = make_error_reply(Error(ErrorCode::kNotFound, "no route /\xff\x01\"é", "\xc3"));
  const json::Value body = json::parse(reply.body);
  EXPECT_EQ(body.find("error")->find("message")->as_string(), "no route /\uFFFD\x01\"\uFFFD\uFFFD");
  EXPECT_EQ(body.find("error")->find("param")->as_string(), "\uFFFD");
}

TEST(Models, AreListedForBothClients) {
  ServedModel model;
  model.names = {"a", "org/b"};
  model.created = 1796186170;
  model.max_model_len = 8192;
  model.description = "A \"model\"";
  EXPECT_EQ(write_models(model),
            R"({"object":"list","data":[)"
            R"({"id":"a","object":"model","created":1796186170,"owned_by":"d3","max_model_len":8192},)"
            R"({"id":"org/b","object":"model","created":1796186170,"owned_by":"d3","max_model_len":8192}],)"
            R"("models":[{"name":"a","description":"A \"model\"","release_date":"2026-12-02"},)"
            R"({"name":"org/b","description":"A \"model\"","release_date":"2026-12-02"}]})");
  model.max_model_len.reset();
  EXPECT_THAT(write_models(model), ::testing::HasSubstr(R"("max_model_len":null)"));
}

TEST(Models, OtherBodies) {
  EXPECT_EQ(write_version("0.1.0"), R"({"version":"0.1.0"})");
  EXPECT_EQ(write_health(), R"({"status":"ok"})");
}

}  // namespace
}  // namespace d3::api
