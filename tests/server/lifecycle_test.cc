// From listening without a model to the last answer: loading, disconnects, drain.
#include <atomic>
#include <chrono>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/test_questions.h"
#include "support/test_server.h"

namespace d3::server {
namespace {

using std::chrono::milliseconds;
using test::answers;
using test::ask;
using test::get_request;
using test::HttpClient;
using test::HttpResponse;
using test::post_request;
using test::TestServer;
using testing::HasSubstr;

constexpr const char* kPath = "/v1/systemone";

TEST(Lifecycle, AnswersWhileTheModelLoads) {
  std::promise<void> loaded;
  TestServer* self = nullptr;
  TestServer server({.load = [&](const std::function<void(double)>& report) {
    report(0.25);
    loaded.get_future().wait();
    return self->fake_model();
  }});
  self = &server;
  HttpClient client = server.client();
  HttpResponse health;
  do health = client.get("/health");
  while (health.body.find("25 %") == std::string::npos);
  EXPECT_EQ(health.status, 503);
  EXPECT_EQ(health.header("retry-after"), "1");
  EXPECT_EQ(client.post(kPath, ask("x")).status, 503);
  EXPECT_EQ(client.get("/v1/models").status, 503);
  EXPECT_EQ(client.get("/version").status, 200);
  EXPECT_EQ(client.get("/v1/nope").status, 404);
  loaded.set_value();
  EXPECT_EQ(server.ready_client().post(kPath, ask("x")).status, 200);
}

TEST(Lifecycle, EndsWithTheLoadersError) {
  TestServer server({.load = [](const auto&) -> ServingModel {
    throw Error(ErrorCode::kBadCheckpoint, "config.json: is missing", "config.json");
  }});
  try {
    server.result();
    FAIL() << "returned";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "config.json: is missing");
  }
}

TEST(Lifecycle, StopsWhileLoading) {
  std::atomic<bool> entered{false};
  TestServer server({.load = [&](const std::function<void(double)>& report) -> ServingModel {
    for (;;) {  // ended by report's exception
      report(0.5);
      entered = true;
      std::this_thread::yield();
    }
  }});
  while (!entered) std::this_thread::yield();
  server.stop();
  EXPECT_TRUE(server.result());
}

TEST(Lifecycle, ClientsThatGoAwayAreNotComputedFor) {
  TestServer server;
  HttpClient client = server.ready_client();
  server.executor().close();
  HttpClient first = server.client();
  first.send(post_request(kPath, ask("1")));
  server.executor().wait_for_runs(1);
  {
    HttpClient gone = server.client();
    gone.send(post_request(kPath, ask("2")));
  }
  HttpClient half = server.client();
  half.send(post_request(kPath, ask("3")));
  half.finish_sending();
  EXPECT_TRUE(half.closed());
  // Nothing announces that the server has noticed the other one's end; a second is ages for an idle I/O
  // thread.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  server.executor().open();
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(client.post(kPath, ask("4")).status, 200);
  server.stop();
  EXPECT_TRUE(server.result());
  EXPECT_EQ(server.executor().batches().size(), 2U);
}

TEST(Lifecycle, DrainAnswersWhatWasAcceptedAndRefusesTheRest) {
  TestServer server;
  HttpClient idle = server.ready_client();
  server.executor().close();
  std::vector<HttpClient> busy;
  for (int i = 0; i < 4; ++i) {
    busy.push_back(server.client());
    busy.back().send(post_request(kPath, ask(std::to_string(i))));
  }
  server.executor().wait_for_runs(1);
  HttpClient reading = server.client();  // headers in, body under way
  const std::string request = post_request(kPath, ask("reading"), "expect: 100-continue\r\n");
  const size_t body = request.find("\r\n\r\n") + 4;
  reading.send(request.substr(0, body));
  EXPECT_EQ(reading.receive(true).status, 100);
  server.stop();
  const HttpResponse refused = idle.post(kPath, ask("late"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("connection"), "close");
  EXPECT_THROW(HttpClient(server.port()).get("/health"), std::runtime_error);
  reading.send(request.substr(body));
  server.executor().open();
  for (HttpClient& client : busy) EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(reading.receive().status, 200);
  EXPECT_TRUE(server.result());
}

TEST(Lifecycle, TheDrainIsBounded) {
  TestServer server({.server = {.drain_timeout = milliseconds(50)}});
  HttpClient client = server.ready_client();
  server.executor().close();
  client.send(post_request(kPath, ask("held")));
  server.executor().wait_for_runs(1);
  server.stop();
  EXPECT_TRUE(client.closed());
  EXPECT_FALSE(server.result());
}

TEST(Lifecycle, ClientsGetTheAnswersTheyGetAlone) {
  constexpr int kClients = 32;
  constexpr int kRounds = 20;
  TestServer server({.engine = {.max_batch_tokens = 2048}});
  HttpClient client = server.ready_client();
  std::vector<std::string> alone;
  for (int i = 0; i < kClients; ++i)
    alone.push_back(answers(client.post(kPath, ask(std::string(static_cast<size_t>(i * 17), 'x') + "?"))));
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i)
    threads.emplace_back([&, i] {
      try {
        HttpClient mine = server.client();
        for (int round = 0; round < kRounds; ++round) {
          const int which = (i + round) % kClients;
          EXPECT_EQ(answers(mine.post(kPath, ask(std::string(static_cast<size_t>(which * 17), 'x') + "?"))),
                    alone[static_cast<size_t>(which)]);
        }
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Requests sent around the moment of the stop get an answer, 200 or 503, or find the connection closed before
// a byte was taken: none is read and then dropped.
TEST(Lifecycle, StoppingUnderLoadLosesNoAcceptedRequest) {
  TestServer server;
  server.ready_client();
  std::atomic<int> done{0};
  std::atomic<int> dropped{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      HttpClient client = server.client();
      for (;;) {
        HttpResponse response;
        try {
          response = client.post(kPath, ask("x"));
        } catch (const std::exception&) {
          ++dropped;
          return;
        }
        ++done;
        EXPECT_TRUE(response.status == 200 || response.status == 503) << response.status;
        if (response.header("connection") == "close") return;
      }
    });
  while (done < 500) std::this_thread::yield();
  server.stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(server.result());
  EXPECT_EQ(dropped, 0);
}

}  // namespace
}  // namespace d3::server
