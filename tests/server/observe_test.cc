// What operators see: metrics, the log, server-timing.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include "json/parse.h"
#include "support/test_questions.h"
#include "support/test_server.h"

namespace d3::server {
namespace {

using test::answers;
using test::ask;
using test::HttpClient;
using test::HttpResponse;
using test::TestServer;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr const char* kPath = "/v1/systemone";

/// The value of a sample, by its name with its labels.
double sample(const std::string& text, const std::string& name) {
  const size_t at = text.find('\n' + name + ' ');
  if (at == std::string::npos) ADD_FAILURE() << name << " is not in\n" << text;
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

TEST(Observe, CountsWhatHappens) {
  TestServer server({.server = {.api_keys = {"k"}}});
  HttpClient client = server.ready_client();
  const std::string key = "authorization: Bearer k\r\n";
  for (int i = 0; i < 3; ++i) answers(client.post(kPath, ask("x"), key));
  EXPECT_EQ(client.post(kPath, "{}", key).status, 400);
  EXPECT_EQ(client.post(kPath, ask("x")).status, 401);
  EXPECT_EQ(client.get("/nowhere/at/all").status, 404);
  const HttpResponse metrics = client.get("/metrics");  // no key
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const std::string& text = metrics.body;
  EXPECT_EQ(sample(text, R"(d3_http_requests_total{route="/v1/systemone",status="200"})"), 3);
  EXPECT_EQ(sample(text, R"(d3_http_requests_total{route="/v1/systemone",status="400"})"), 1);
  EXPECT_EQ(sample(text, R"(d3_http_requests_total{route="/v1/systemone",status="401"})"), 1);
  EXPECT_EQ(sample(text, R"(d3_http_requests_total{route="other",status="404"})"), 1);
  EXPECT_THAT(text, Not(HasSubstr("nowhere")));
  EXPECT_EQ(sample(text, R"(d3_http_request_seconds_count{asks="true"})"), 5);
  EXPECT_EQ(sample(text, "d3_questions_total"), 6);
  EXPECT_GT(sample(text, "d3_input_tokens_total"), 6 * 100);
  for (const char* stage : {"parse", "tokenize", "queue", "forward"})
    EXPECT_EQ(sample(text, R"(d3_stage_seconds_count{stage=")" + std::string(stage) + "\"}"), 3) << stage;
  EXPECT_EQ(sample(text, "d3_batch_questions_sum"), 6);
  EXPECT_EQ(sample(text, "d3_batch_tokens_sum"), sample(text, "d3_input_tokens_total"));
  EXPECT_EQ(sample(text, "d3_prefix_hits_total"), 3);  // the second question of each
  EXPECT_EQ(sample(text, "d3_queue_requests"), 0);
  EXPECT_EQ(sample(text, "d3_queue_tokens"), 0);
  EXPECT_EQ(sample(text, "d3_http_connections"), 1);
  EXPECT_EQ(sample(text, "d3_ready"), 1);
  EXPECT_EQ(sample(text, R"(d3_build_info{version="1.2.3"})"), 1);
  EXPECT_EQ(sample(text, R"(d3_model_info{model="test-model",dtype="fake"})"), 1);
  EXPECT_GT(sample(text, "d3_http_received_bytes_total"), 500);
  EXPECT_GT(sample(text, "d3_http_sent_bytes_total"), 1000);
  EXPECT_GT(sample(text, "process_resident_memory_bytes"), 1e6);
  EXPECT_GT(sample(text, "process_open_fds"), 3);
}

TEST(Observe, ShowsWhatWaits) {
  TestServer server;
  HttpClient client = server.ready_client();
  server.executor().close();
  std::vector<HttpClient> busy;
  for (int i = 0; i < 3; ++i) {
    busy.push_back(server.client());
    busy.back().send(test::post_request(kPath, ask("x")));
  }
  server.executor().wait_for_runs(1);
  std::string text;
  do text = client.get("/metrics").body;
  while (sample(text, "d3_queue_requests") < 3 && !HasFailure());
  EXPECT_EQ(sample(text, "d3_http_connections"), 4);
  server.executor().open();
  for (HttpClient& one : busy) EXPECT_EQ(one.receive().status, 200);
}

TEST(Observe, IsAliveBeforeItIsReady) {
  std::promise<void> loaded;
  TestServer* self = nullptr;
  TestServer server({.load = [&](const auto&) {
    loaded.get_future().wait();
    return self->fake_model();
  }});
  self = &server;
  HttpClient client = server.client();
  EXPECT_EQ(client.get("/live").status, 200);
  EXPECT_EQ(client.get("/health").status, 503);
  EXPECT_EQ(sample(client.get("/metrics").body, "d3_ready"), 0);
  loaded.set_value();
  server.ready_client();
  EXPECT_EQ(client.get("/live").status, 200);
}

TEST(Observe, TellsWhereTheTimeWent) {
  TestServer server;
  HttpClient client = server.ready_client();
  EXPECT_THAT(
      client.post(kPath, ask("x")).header("server-timing"),
      MatchesRegex("parse;dur=[0-9.]+, tokenize;dur=[0-9.]+, queue;dur=[0-9.]+, forward;dur=[0-9.]+"));
  EXPECT_EQ(client.get("/health").header("server-timing"), "");
}

std::string log_of(LogFormat format) {
  std::ostringstream stream;
  auto log =
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(stream));
  log->set_pattern("%v");
  {
    TestServer server({.server = {.api_keys = {"secret-key"}, .log_format = format}, .log = log});
    HttpClient client = server.ready_client();
    const std::string headers = "authorization: Bearer secret-key\r\nx-request-id: id-1\r\n";
    answers(client.post("/v1/systemone?api_key=secret-query", ask("secret-state"), headers));
    client.post(kPath, R"({"state":"secret-bad"})", headers);
    client.get("/p\"q\\r");
    client.get("/\"><script>\x01");  // no HTTP: closes
  }
  return stream.str();
}

TEST(Observe, LogsEveryAnswerAndNoContent) {
  const std::string text = log_of(LogFormat::kText);
  EXPECT_THAT(text,
              testing::ContainsRegex("id-1 POST /v1/systemone 200 [0-9.]+ ms, 2 questions, [0-9]+ tokens\n"));
  EXPECT_THAT(text, testing::ContainsRegex("id-1 POST /v1/systemone 400 [0-9.]+ ms\n"));
  EXPECT_THAT(text, HasSubstr("GET /p?q?r 404"));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

TEST(Observe, LogsMembersOfJson) {
  std::istringstream lines(log_of(LogFormat::kJson));
  size_t answered = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, Not(HasSubstr("secret")));
    if (!line.starts_with("\"id\"")) continue;
    const json::Value value = json::parse('{' + line + '}');
    EXPECT_GE(std::stod(value.find("ms")->as_number().text), 0);
    if (value.find("path")->as_string() != kPath || value.find("status")->as_number().text != "200") continue;
    ++answered;
    EXPECT_EQ(value.find("id")->as_string(), "id-1");
    EXPECT_EQ(value.find("questions")->as_number().text, "2");
    for (const char* stage : {"parse_ms", "tokenize_ms", "queue_ms", "forward_ms"})
      EXPECT_NE(value.find(stage), nullptr) << stage;
  }
  EXPECT_EQ(answered, 1U);
}

}  // namespace
}  // namespace d3::server
