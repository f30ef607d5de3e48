// HTTP as a client sees it: routes, ids, keep-alive, pipelining, bodies in every shape.
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "server/content_coding.h"
#include "support/compress.h"
#include "support/test_questions.h"
#include "support/test_server.h"

namespace d3::server {
namespace {

using test::answers;
using test::ask;
using test::get_request;
using test::HttpClient;
using test::HttpResponse;
using test::post_request;
using test::TestServer;
using testing::HasSubstr;

constexpr const char* kAsk =
    R"({"state":"Where is my parcel?","questions":{"late":{"type":"noul","instructions":"Is it late?"}}})";

void expect_error(const HttpResponse& response, int status, const std::string& type,
                  const std::string& param = "") {
  EXPECT_EQ(response.status, status) << response.body;
  const json::Value body = json::parse(response.body);
  const json::Value* error = body.find("error");
  ASSERT_NE(error, nullptr) << response.body;
  EXPECT_EQ(error->find("type")->as_string(), type);
  EXPECT_EQ(error->find("code")->as_number().text, std::to_string(status));
  EXPECT_FALSE(error->find("message")->as_string().empty());
  if (param.empty())
    EXPECT_TRUE(error->find("param")->is_null());
  else
    EXPECT_EQ(error->find("param")->as_string(), param);
  EXPECT_EQ(response.header("content-type"), "application/json");
  EXPECT_FALSE(response.header("x-request-id").empty());
  EXPECT_EQ(response.header("x-request-id"), response.header("x-typesafe-request-id"));
}

TEST(Http, TellsWhatIsServed) {
  TestServer server;
  HttpClient client = server.ready_client();
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_THAT(client.get("/version").body, HasSubstr("1.2.3"));
  const HttpResponse models = client.get("/v1/models?limit=1");
  EXPECT_THAT(models.body, HasSubstr("\"test-model\""));
  EXPECT_THAT(models.body, HasSubstr("100000"));
  client.send("HEAD /health HTTP/1.1\r\nhost: test\r\n\r\n");
  const HttpResponse head = client.receive(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_GT(std::stoi(head.header("content-length")), 0);
  EXPECT_EQ(client.get("http://test/health").status, 200);  // absolute form
  EXPECT_EQ(client.get("/version").status, 200);            // the connection is still in step
}

TEST(Http, AnswersBothApis) {
  TestServer server;
  HttpClient client = server.ready_client();
  const HttpResponse systemone = client.post("/v1/systemone", kAsk);
  EXPECT_EQ(systemone.status, 200);
  const json::Value body = json::parse(systemone.body);
  EXPECT_EQ(body.find("id")->as_string(), "decision-" + systemone.header("x-request-id"));
  EXPECT_EQ(body.find("model")->as_string(), "test-model");
  EXPECT_EQ(body.find("answers")->find("late")->find("type")->as_string(), "noul");
  EXPECT_GT(std::stoi(body.find("usage")->find("input_tokens")->as_number().text), 100);
  const HttpResponse decisions = client.post(
      "/v1/decisions",
      R"({"model":"test-model","input":"Where is my parcel?","questions":[{"type":"predicate","instructions":"Is it late?"}]})");
  EXPECT_EQ(decisions.status, 200) << decisions.body;
  EXPECT_THAT(decisions.body, HasSubstr("\"probability\""));
}

TEST(Http, RefusesUnknownPathsAndMethods) {
  TestServer server;
  HttpClient client = server.ready_client();
  expect_error(client.get("/v1/nope"), 404, "NotFoundError");
  expect_error(client.get("/v1/systemone/"), 404, "NotFoundError");
  const HttpResponse get = client.get("/v1/systemone");
  expect_error(get, 405, "MethodNotAllowedError");
  EXPECT_EQ(get.header("allow"), "POST");
  const HttpResponse post = client.post("/health", "{}");
  expect_error(post, 405, "MethodNotAllowedError");
  EXPECT_EQ(post.header("allow"), "GET, HEAD");
  client.send("BREW /v1/systemone HTTP/1.1\r\nhost: test\r\n\r\n");
  expect_error(client.receive(), 405, "MethodNotAllowedError");
}

TEST(Http, NamesTheFieldAtFault) {
  TestServer server({.max_length = 1000});
  HttpClient client = server.ready_client();
  expect_error(client.post("/v1/systemone", "[1]"), 400, "BadRequestError");
  expect_error(client.post("/v1/systemone", R"({"state":null,"questions":{}})"), 400, "BadRequestError",
               "questions");
  expect_error(client.post("/v1/systemone", R"({"model":"other",)" + std::string(kAsk + 1)), 404,
               "NotFoundError", "model");
  const HttpResponse lengthy = client.post("/v1/systemone", ask(std::string(1000, 'x')));
  expect_error(lengthy, 400, "BadRequestError", "questions.kind");
  EXPECT_THAT(lengthy.body, HasSubstr("1000"));
  EXPECT_EQ(client.post("/v1/systemone", kAsk).status, 200);
}

TEST(Http, TakesJsonOnly) {
  TestServer server;
  HttpClient client = server.ready_client();
  const std::string start = "POST /v1/systemone HTTP/1.1\r\nhost: test\r\ncontent-length: 2\r\n";
  for (const std::string type : {"", "content-type: text/plain\r\n", "content-type: application/jsonp\r\n",
                                 "content-type: application/json\r\ncontent-encoding: br\r\n",
                                 "content-type: application/json\r\ncontent-encoding: gzip, gzip\r\n"}) {
    client.send(start + type + "\r\n{}");
    expect_error(client.receive(), 415, "UnsupportedMediaTypeError");
  }
  client.send(start + "content-type: Application/JSON ; charset=utf-8\r\n\r\n{}");
  EXPECT_EQ(client.receive().status, 400);  // read, and found without a state
}

TEST(Http, TakesFormsAtSystemoneAlone) {
  TestServer server;
  HttpClient client = server.ready_client();
  const std::string body =
      "--b\r\ncontent-disposition: form-data; name=\"request\"\r\n\r\n" + std::string(kAsk) + "\r\n--b--";
  const auto form = [&](const std::string& path) {
    client.send("POST " + path +
                " HTTP/1.1\r\nhost: test\r\ncontent-type: multipart/form-data; boundary=b\r\n" +
                "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.receive();
  };
  EXPECT_EQ(form("/v1/systemone").status, 200);
  expect_error(form("/v1/decisions"), 415, "UnsupportedMediaTypeError");
}

TEST(Http, EchoesAUsableRequestId) {
  TestServer server;
  HttpClient client = server.ready_client();
  const auto id_for = [&](const std::string& sent) {
    return client.post("/v1/systemone", kAsk, "x-request-id: " + sent + "\r\n").header("x-request-id");
  };
  EXPECT_EQ(id_for("order-66/a.b"), "order-66/a.b");
  EXPECT_EQ(id_for(std::string(128, 'x')), std::string(128, 'x'));
  std::set<std::string> made = {id_for(std::string(129, 'x')), id_for("two words"), id_for("caf\xc3\xa9"),
                                client.get("/health").header("x-request-id")};
  EXPECT_EQ(made.size(), 4U);
  for (const std::string& id : made) EXPECT_THAT(id, testing::MatchesRegex("[0-9a-f]+")) << id;
  const HttpResponse answer = client.post("/v1/systemone", R"({"request_id":"own",)" + std::string(kAsk + 1));
  EXPECT_THAT(answer.body, HasSubstr("\"decision-own\""));
}

TEST(Http, AsksForTheKey) {
  TestServer server({.server = {.api_keys = {"secret", "second"}}});
  HttpClient client = server.ready_client();  // /health is open
  expect_error(client.post("/v1/systemone", kAsk), 401, "AuthenticationError");
  expect_error(client.post("/v1/systemone", kAsk, "authorization: Bearer wrong\r\n"), 401,
               "AuthenticationError");
  expect_error(client.post("/v1/systemone", kAsk, "authorization: Bearer secre\r\n"), 401,
               "AuthenticationError");
  expect_error(client.post("/v1/systemone", kAsk, "authorization: secret\r\n"), 401, "AuthenticationError");
  expect_error(client.get("/v1/models"), 401, "AuthenticationError");
  expect_error(client.get("/v1/nope"), 401, "AuthenticationError");
  EXPECT_EQ(client.post("/v1/systemone", kAsk, "authorization: Bearer secret\r\n").status, 200);
  EXPECT_EQ(client.post("/v1/systemone", kAsk, "authorization: bearer second\r\n").status, 200);
  EXPECT_EQ(client.get("/version").status, 200);
}

TEST(Http, AnswersPipelinedRequestsInOrder) {
  TestServer server;
  HttpClient client = server.ready_client();
  std::vector<std::string> alone;
  for (int i = 0; i < 8; ++i)
    alone.push_back(answers(client.post("/v1/systemone", ask(fmt::format("s{}", i)))));
  std::string requests;
  for (int i = 0; i < 8; ++i)
    requests += post_request("/v1/systemone", ask(fmt::format("s{}", i))) + get_request("/v1/nope");
  client.send(requests);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(answers(client.receive()), alone[static_cast<size_t>(i)]);
    EXPECT_EQ(client.receive().status, 404);
  }
}

TEST(Http, ReadsBodiesByteByByteAndInChunks) {
  TestServer server;
  HttpClient client = server.ready_client();
  const std::string alone = answers(client.post("/v1/systemone", ask("x")));
  for (const char c : post_request("/v1/systemone", ask("x"))) client.send({&c, 1});
  EXPECT_EQ(answers(client.receive()), alone);
  const std::string body = ask("x");
  std::string chunked =
      "POST /v1/systemone HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ntransfer-encoding: "
      "chunked\r\n\r\n";
  for (const char c : body) chunked += "1;note=\"y\"\r\n" + std::string(1, c) + "\r\n";
  chunked += "0\r\ntrailer: z\r\n\r\n";
  client.send(chunked + get_request("/health"));
  EXPECT_EQ(answers(client.receive()), alone);
  EXPECT_EQ(client.receive().status, 200);
}

TEST(Http, ContinuesWhenExpectedTo) {
  TestServer server;
  HttpClient client = server.ready_client();
  const std::string body = ask("x");
  const std::string request = post_request("/v1/systemone", body, "expect: 100-continue\r\n");
  client.send(request.substr(0, request.size() - body.size()));
  EXPECT_EQ(client.receive(true).status, 100);
  client.send(body);
  EXPECT_EQ(client.receive().status, 200);
  // A refusal comes instead of 100, and the body must not be sent any more.
  client.send("POST /v1/nope HTTP/1.1\r\nhost: test\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n");
  EXPECT_EQ(client.receive().status, 404);
  EXPECT_TRUE(client.closed());
}

TEST(Http, ReadsCompressedBodies) {
  TestServer server({.server = {.max_body = 100'000}});
  HttpClient client = server.ready_client();
  const std::string body = ask(std::string(50'000, 'x'));
  const std::string alone = answers(client.post("/v1/systemone", body));
  EXPECT_EQ(answers(client.post("/v1/systemone", gzip(body), "content-encoding: gzip\r\n")), alone);
  EXPECT_EQ(answers(client.post("/v1/systemone", test::zstd(body), "Content-Encoding: ZSTD\r\n")), alone);
  const std::string large = ask(std::string(1'000'000, 'x'));
  expect_error(client.post("/v1/systemone", gzip(large), "content-encoding: gzip\r\n"), 413,
               "PayloadTooLargeError");
  expect_error(client.post("/v1/systemone", "not gzip", "content-encoding: gzip\r\n"), 400,
               "BadRequestError");
  const HttpResponse unknown = client.post("/v1/systemone", body, "content-encoding: br\r\n");
  expect_error(unknown, 415, "UnsupportedMediaTypeError");
  EXPECT_EQ(unknown.header("accept-encoding"), "gzip, zstd");
}

TEST(Http, LetsNoWebPageAskByDefault) {
  TestServer server;
  HttpClient client = server.ready_client();
  const HttpResponse response = client.post("/v1/systemone", kAsk, "origin: https://a.example\r\n");
  EXPECT_EQ(response.header("access-control-allow-origin"), "");
  client.send(
      "OPTIONS /v1/systemone HTTP/1.1\r\nhost: t\r\norigin: https://a.example\r\n"
      "access-control-request-method: POST\r\n\r\n");
  expect_error(client.receive(), 405, "MethodNotAllowedError");
}

TEST(Http, LetsPagesOfAllowedOriginsAsk) {
  TestServer server({.server = {.api_keys = {"k"}, .cors_origins = {"https://a.example"}}});
  HttpClient client = server.ready_client();
  const auto preflight = [&](const std::string& origin) {
    client.send(fmt::format(
        "OPTIONS /v1/systemone HTTP/1.1\r\nhost: t\r\norigin: {}\r\naccess-control-request-method: POST\r\n"
        "access-control-request-headers: authorization,x-y\r\n\r\n",
        origin));
    return client.receive();
  };
  const HttpResponse allowed = preflight("https://a.example");
  EXPECT_EQ(allowed.status, 204);
  EXPECT_EQ(allowed.header("access-control-allow-origin"), "https://a.example");
  EXPECT_EQ(allowed.header("access-control-allow-methods"), "POST");
  EXPECT_EQ(allowed.header("access-control-allow-headers"), "authorization,x-y");
  EXPECT_EQ(allowed.header("vary"), "origin");
  const HttpResponse other = preflight("https://b.example");
  EXPECT_EQ(other.status, 401);
  EXPECT_EQ(other.header("access-control-allow-origin"), "");
  // An error, too, can be read by the page.
  EXPECT_EQ(client.post("/v1/systemone", kAsk, "origin: https://a.example\r\n")
                .header("access-control-allow-origin"),
            "https://a.example");
  TestServer open({.server = {.cors_origins = {"*"}}});
  EXPECT_EQ(open.ready_client()
                .post("/v1/systemone", kAsk, "origin: https://c.example\r\n")
                .header("access-control-allow-origin"),
            "*");
}

TEST(Http, SpeaksHttp10) {
  TestServer server;
  HttpClient client = server.ready_client();
  client.send("GET /version HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(client.closed());
}

TEST(Http, KeepsTheConnectionAfterARefusalOfASmallBody) {
  TestServer server;
  HttpClient client = server.ready_client();
  const std::string body(100'000, 'x');
  EXPECT_EQ(client.post("/v1/nope", body).status, 404);
  EXPECT_EQ(client.post("/v1/systemone", kAsk).status, 200);
}

}  // namespace
}  // namespace d3::server
