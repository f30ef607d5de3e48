// The real program, a real (small) model, real clients.
#include "support/process.h"

#include <atomic>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "support/checkpoint_writer.h"
#include "support/http_client.h"
#include "support/micro_checkpoint.h"
#include "support/probabilities.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::server {
namespace {

using test::HttpClient;
using test::HttpResponse;
using test::probabilities_of;
using test::ProcessResult;
using test::run_shell;
using test::ServeProcess;
using testing::HasSubstr;

constexpr const char* kPath = "/v1/systemone";

/// A request of 1 to 4 questions whose state grows with `number`.
std::string ask(int number) {
  std::string state;
  for (int i = 0; i < number; i += 2) state += "item " + std::to_string(number * 100 + i) + ", ";
  std::string body = R"({"state":")" + state + R"(","questions":{)";
  for (int i = 0; i <= number % 4; ++i)
    body += std::string(i > 0 ? "," : "") + "\"q" + std::to_string(i) +
            R"(":{"type":"choice","instructions":"Which number )" + std::to_string(i) +
            R"(?","criteria":{"one":null,"two":"the second","three":"the third"}})";
  return body + "}}";
}

class Process : public test::MicroCheckpointTest {};

TEST_F(Process, ServesTheRecipesRequestToCurl) {
  ServeProcess server({checkpoint(), "--served-model-name", "tiny", "--dtype", "float32"});
  server.wait_until_ready();
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
  const std::string body =
      R"({"state": "Write a Python function that merges two sorted lists.", "questions": {"kind": {"type": "choice", )"
      R"("instructions": "What kind of work is this?", "criteria": {"code": "Writing or fixing code", )"
      R"("math": "Mathematics", "chat": "Anything else"}}, "reasoning": {"type": "noul", )"
      R"("instructions": "Does answering this need multi-step reasoning?"}}})";
  const std::string curl = "curl -sS -w '%{http_code}' -H 'content-type: application/json' --data-binary @- ";
  const ProcessResult plain = run_shell(curl + url + kPath, body);
  EXPECT_THAT(plain.out, testing::EndsWith("200")) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr(R"("object":"structured_decision")"));
  EXPECT_THAT(plain.out, HasSubstr(R"("model":"tiny")"));
  EXPECT_EQ(probabilities_of(plain.out.substr(0, plain.out.size() - 3)).size(), 5U);
  const ProcessResult chunked = run_shell(curl + "-H 'transfer-encoding: chunked' " + url + kPath, body);
  EXPECT_THAT(chunked.out, testing::EndsWith("200"));
  // Above a megabyte curl asks first (expect: 100-continue).
  const ProcessResult expecting = run_shell(curl + url + kPath, body + std::string(2 << 20, ' '));
  EXPECT_THAT(expecting.out, testing::EndsWith("200"));
  const ProcessResult two =
      run_shell("curl -sS -w '%{http_code},' " + url + "/health " + url + "/v1/nope", "");
  EXPECT_THAT(two.out, HasSubstr("200,"));
  EXPECT_THAT(two.out, testing::EndsWith("404,"));
}

TEST_F(Process, ThirtyTwoClientsGetTheAnswersTheyGetAlone) {
  constexpr int kClients = 32;
  ServeProcess server({checkpoint(), "--dtype", "float32", "--log-level", "warn"});
  server.wait_until_ready();
  std::vector<std::vector<double>> alone;
  {
    HttpClient client(server.port());
    for (int i = 0; i < kClients; ++i) alone.push_back(probabilities_of(client.post(kPath, ask(i)).body));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i)
    threads.emplace_back([&, i] {
      try {
        HttpClient client(server.port());
        for (int round = 0; round < 4; ++round) {
          const int which = (i * 7 + round * 11) % kClients;
          const HttpResponse response = client.post(kPath, ask(which));
          if (response.status != 200 || !(test::largest_gap(probabilities_of(response.body),
                                                            alone[static_cast<size_t>(which)]) <= 1e-5))
            ++wrong;
        }
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Process, SigtermUnderLoadLosesNoAcceptedRequest) {
  ServeProcess server({checkpoint(), "--dtype", "float32"});
  server.wait_until_ready();
  std::atomic<int> answered{0};
  std::atomic<int> dropped{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&, i] {
      try {
        HttpClient client(server.port());
        for (;;) {
          const HttpResponse response = client.post(kPath, ask(i));
          EXPECT_TRUE(response.status == 200 || response.status == 503) << response.status;
          if (response.status == 200) ++answered;
          if (response.header("connection") == "close") return;
        }
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        ++dropped;
      }
    });
  while (answered < 40) std::this_thread::yield();
  server.signal(SIGTERM);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.wait(), 0);
  EXPECT_EQ(dropped, 0);
  EXPECT_THAT(server.errors(), HasSubstr("SIGTERM"));
}

TEST_F(Process, StartsAgainOnThePortOfOneThatWasKilled) {
  ServeProcess first({checkpoint()});
  first.wait_until_ready();
  HttpClient client(first.port());
  EXPECT_EQ(client.post(kPath, ask(1)).status, 200);
  const std::string port = std::to_string(first.port());
  const ProcessResult taken = run_shell("$D3 serve --port " + port + " " + checkpoint());
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_EQ(taken.err, "d3: error: cannot listen on 127.0.0.1:" + port + ": Address already in use\n");
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), 128 + SIGKILL);
  ServeProcess second({checkpoint()}, first.port());
  EXPECT_EQ(std::to_string(second.port()), port);
  second.wait_until_ready();
  second.signal(SIGINT);
  EXPECT_EQ(second.wait(), 0);
}

TEST_F(Process, EndsWithOneLineWhenTheModelCannotBeLoaded) {
  const ProcessResult result = run_shell("$D3 serve --port 0 --log-level off /nowhere");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "d3: error: /nowhere: there is no such directory\n");
}

TEST_F(Process, KeysComeFromTheEnvironmentToo) {
  ServeProcess server({checkpoint(), "--api-key", "one", "--api-key", "two"});
  server.wait_until_ready();
  HttpClient client(server.port());
  EXPECT_EQ(client.post(kPath, ask(0)).status, 401);
  EXPECT_EQ(client.post(kPath, ask(0), "authorization: Bearer two\r\n").status, 200);
  const ProcessResult env =
      run_shell("D3_API_KEY=secret $D3 serve --port 0 --log-level off " + checkpoint() +
                " > port & trap 'kill $!' EXIT; " + test::wait_until("[ -s port ]", "$!") +
                "url=$(sed 's/.*http/http/' port); rm port; "
                "curl -s -o /dev/null -w '%{http_code} ' $url/v1/models; " +
                test::wait_until(test::answers("$url/health"), "$!") +
                "curl -s -o /dev/null -w '%{http_code}' -H 'authorization: Bearer secret' $url/v1/models");
  EXPECT_EQ(env.out, "401 200") << env.err;
}

}  // namespace
}  // namespace d3::server
