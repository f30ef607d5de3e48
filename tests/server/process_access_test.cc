// How the real program can be reached: TLS, a Unix socket, keys from a file; and what it logs.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "json/parse.h"
#include "support/http_client.h"
#include "support/micro_checkpoint.h"
#include "support/process.h"
#include "support/temporary_directory.h"

namespace d3::server {
namespace {

using test::HttpClient;
using test::ProcessResult;
using test::run_shell;
using test::ServeProcess;
using testing::HasSubstr;

class ProcessAccess : public test::MicroCheckpointTest {
 protected:
  std::string file(const std::string& name) const { return (directory_.path() / name).string(); }

 private:
  test::TemporaryDirectory directory_;
};

TEST_F(ProcessAccess, SpeaksTls) {
  const std::string certificate = file("cert.pem");
  const std::string key = file("key.pem");
  const ProcessResult made = run_shell(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost "
      "-addext subjectAltName=IP:127.0.0.1 -keyout " +
      key + " -out " + certificate);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  ServeProcess server({checkpoint(), "--tls-cert", certificate, "--tls-key", key});
  EXPECT_THAT(server.url(), testing::StartsWith("https://127.0.0.1:"));
  const std::string curl = "curl -sS --cacert " + certificate + " ";
  const ProcessResult ready = run_shell(
      test::wait_until(curl + "-f " + server.url() + "/health 2>/dev/null", std::to_string(server.pid())));
  EXPECT_THAT(ready.out, HasSubstr("ok"));
  const ProcessResult asked = run_shell(
      curl + "-w '%{http_version} %{http_code}' -H 'content-type: application/json' --data-binary @- " +
          server.url() + "/v1/systemone",
      R"({"state":")" + std::string(300'000, ' ') +
          R"(x","questions":{"q":{"type":"noul","instructions":"?"}}})");
  EXPECT_THAT(asked.out, testing::EndsWith("1.1 200")) << asked.err;
  EXPECT_NE(run_shell(curl + "--tls-max 1.1 " + server.url() + "/live").exit_code, 0);
  // Who speaks no TLS, or breaks off, harms nobody.
  HttpClient plain(server.port());
  plain.send("GET /live HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_THROW(plain.receive(), std::runtime_error);
  { HttpClient silent(server.port()); }
  EXPECT_EQ(
      run_shell(curl + "-o /dev/null -w '%{http_code}' -H 'connection: close' " + server.url() + "/live").out,
      "200");
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  const ProcessResult wrong =
      run_shell("$D3 serve " + checkpoint() + " --tls-cert " + key + " --tls-key " + key);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("key.pem: no usable certificate"));
  EXPECT_EQ(run_shell("$D3 serve " + checkpoint() + " --tls-cert " + certificate).exit_code, 2);
}

TEST_F(ProcessAccess, ListensOnAUnixSocket) {
  const std::string path = file("d3.sock");
  const std::string curl =
      "curl -sS -o /dev/null -w '%{http_code}' --unix-socket " + path + " http://d3/live";
  {
    ServeProcess killed({checkpoint(), "--unix", path});
    EXPECT_EQ(killed.url(), "unix:" + path);
    EXPECT_EQ(run_shell(curl).out, "200");
    const ProcessResult second = run_shell("$D3 serve " + checkpoint() + " --unix " + path);
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.err, HasSubstr("Address already in use"));
    killed.signal(SIGKILL);
    EXPECT_EQ(killed.wait(), 128 + SIGKILL);
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  ServeProcess server({checkpoint(), "--unix", path});
  EXPECT_EQ(run_shell(curl).out, "200");
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::ofstream(file("precious")) << "kept";
  EXPECT_EQ(run_shell("$D3 serve " + checkpoint() + " --unix " + file("precious")).exit_code, 1);
  EXPECT_TRUE(std::filesystem::exists(file("precious")));
}

TEST_F(ProcessAccess, TakesKeysFromAFile) {
  std::ofstream(file("keys")) << "# for the tests\n\none \r\n  two\n";
  ServeProcess server({checkpoint(), "--api-key-file", file("keys")});
  server.wait_until_ready();
  HttpClient client(server.port());
  const auto status = [&](const std::string& key) {
    client.send(test::get_request("/v1/models", "authorization: Bearer " + key + "\r\n"));
    return client.receive().status;
  };
  EXPECT_EQ(status("one"), 200);
  EXPECT_EQ(status("two"), 200);
  EXPECT_EQ(status("# for the tests"), 401);
  std::ofstream(file("empty")) << "# nobody\n";
  for (const std::string& bad : {file("empty"), file("absent"), file("")}) {
    const ProcessResult refused = run_shell("$D3 serve " + checkpoint() + " --api-key-file " + bad);
    EXPECT_EQ(refused.exit_code, 1) << bad;
    EXPECT_THAT(refused.err, HasSubstr("d3: error: " + bad)) << bad;
  }
}

TEST_F(ProcessAccess, LogsJsonLines) {
  ServeProcess server({checkpoint(), "--log-format", "json"});
  server.wait_until_ready();
  HttpClient(server.port()).get("/a\"b");
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  std::istringstream lines(server.errors());
  size_t answers = 0;
  size_t messages = 0;
  for (std::string line; std::getline(lines, line);) {
    const json::Value value = json::parse(line);
    EXPECT_EQ(value.find("level")->as_string(), "info");
    EXPECT_EQ(value.find("time")->as_string().size(), 29U);
    answers += value.find("status") != nullptr ? 1 : 0;
    messages += value.find("message") != nullptr ? 1 : 0;
  }
  EXPECT_GE(answers, 2U);
  EXPECT_EQ(messages, 2U);  // ready, and SIGTERM
}

// A reader of the log that goes away must not take the server with it.
TEST_F(ProcessAccess, SurvivesTheEndOfItsLogsReader) {
  const std::string port = std::to_string(test::free_port());
  const std::string url = "http://127.0.0.1:" + port;
  std::ofstream(file("start")) << "echo $$ > " << file("pid") << "; exec $D3 serve --port " << port << ' '
                               << checkpoint() << '\n';
  const ProcessResult result =
      run_shell("sh " + file("start") + " 2>&1 >/dev/null | head -n 1 >/dev/null & " +
                test::wait_until(test::answers(url + "/health"),
                                 "$(grep . " + file("pid") + " 2>/dev/null || echo $$)") +
                "for i in 1 2 3 4 5; do curl -s -o /dev/null -w '%{http_code} ' " + url +
                "/live; done; kill $(cat " + file("pid") + ")");
  EXPECT_EQ(result.out, "200 200 200 200 200 ") << result.err;
}

}  // namespace
}  // namespace d3::server
