// What the machine may do to the real program: memory that runs out, a full disk, streams that are closed.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

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

constexpr const char* kPath = "/v1/systemone";

#ifdef D3_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

std::string ask(const std::string& state) {
  return R"({"state":)" + state + R"(,"questions":{"q":{"type":"noul","instructions":"Is it?"}}})";
}

class ProcessFaults : public test::MicroCheckpointTest {
 protected:
  /// Serves with these redirections (after `prepare`), asks for /version five times, stops it. What curl
  /// printed, and the server's exit code.
  static ProcessResult serve_and_ask(const std::string& redirect, const std::string& prepare = {}) {
    const std::string port = std::to_string(test::free_port());
    const std::string url = "http://127.0.0.1:" + port;
    return run_shell("(" + prepare + " exec $D3 serve --port " + port + " " + checkpoint() + " " + redirect +
                     ") & pid=$!; " + test::wait_until(test::answers(url + "/health"), "$pid") +
                     "for i in 1 2 3 4 5; do curl -s -o /dev/null -w '%{http_code} ' " + url +
                     "/version; done; kill $pid; wait $pid");
  }
};

/// The process may not have more address space than it has now and `more` bytes.
void limit_memory(pid_t pid, size_t more) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  size_t pages = 0;
  file >> pages;
  const size_t limit = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + more;
  const rlimit limits{.rlim_cur = limit, .rlim_max = limit};
  ASSERT_EQ(::prlimit(pid, RLIMIT_AS, &limits, nullptr), 0);
}

constexpr int kCut = 0;  // refused in the middle of a long body: the answer may be lost with the connection

int status_of(const ServeProcess& server, const std::string& body) {
  try {
    return HttpClient(server.port()).post(kPath, body).status;
  } catch (const std::runtime_error&) {
    return kCut;
  }
}

// One request asks for memory that is not there, for its body or for what its JSON becomes; it alone fails,
// and what it had is free again.
TEST_F(ProcessFaults, OutOfMemoryInOneRequestFailsThatRequestAlone) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts, and it ends the process";
  ServeProcess server({checkpoint()});
  server.wait_until_ready();
  HttpClient other(server.port());
  ASSERT_EQ(other.post(kPath, ask("\"x\"")).status, 200);
  limit_memory(server.pid(), 24 << 20);
  EXPECT_THAT(status_of(server, ask('"' + std::string(60 << 20, 'x') + '"')), testing::AnyOf(kCut, 429));
  EXPECT_EQ(other.post(kPath, ask("\"x\"")).status, 200);
  std::string numbers = "[0";
  for (int i = 0; i < 1'900'000; ++i) numbers += ",0";
  EXPECT_EQ(status_of(server, ask(numbers + ']')), 500);
  EXPECT_EQ(other.post(kPath, ask("\"x\"")).status, 200);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_THAT(server.errors(), HasSubstr("memory"));
}

TEST_F(ProcessFaults, ServesThoughNobodyTakesWhatItWrites) {
  for (const char* redirect :
       {"> /dev/null 2> /dev/full", "> /dev/null 2>&-", ">&-", "<&- >&- 2>&-", "> /dev/full 2> /dev/full"}) {
    const ProcessResult result = serve_and_ask(redirect);
    EXPECT_EQ(result.out, "200 200 200 200 200 ") << redirect << result.err;
    // That its address could not be printed is a failure in the end.
    EXPECT_EQ(result.exit_code, std::string_view(redirect).starts_with("> /dev/full") ? 1 : 0) << redirect;
  }
}

// As on a full disk, but in the middle: the file has reached its limit.
TEST_F(ProcessFaults, ServesThoughItsLogMayNotGrow) {
  const test::TemporaryDirectory directory;
  const std::string file = (directory.path() / "log").string();
  const ProcessResult result = serve_and_ask("> /dev/null 2> " + file, "ulimit -f 1;");
  EXPECT_EQ(result.out, "200 200 200 200 200 ") << result.err;
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(std::filesystem::file_size(file), 512U);
}

}  // namespace
}  // namespace d3::server
