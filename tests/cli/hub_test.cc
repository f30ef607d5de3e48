// Models by name, as a user types them, from a hub on loopback.

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_hub.h"
#include "support/file_content.h"
#include "support/micro_checkpoint.h"
#include "support/process.h"
#include "support/temporary_directory.h"

namespace d3::cli {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::FakeHub;
using test::ProcessResult;
using testing::HasSubstr;
using testing::MatchesRegex;

class CliHub : public test::MicroCheckpointTest {
 protected:
  CliHub() : hub_(files()) {}

  static std::map<std::string, FakeHub::File> files() {
    std::map<std::string, FakeHub::File> files;
    for (const auto& entry : fs::directory_iterator(checkpoint()))
      files[entry.path().filename()] = {content_of(entry.path()), entry.path().extension() == ".safetensors"};
    return files;
  }

  /// A command line with the hub and the cache in its environment.
  ProcessResult run(const std::string& command, const std::string& before = {}) const {
    return test::run_shell(before + "HF_ENDPOINT=" + hub_.url() + " HF_HOME=" + home_.path().string() + " " +
                           command);
  }
  fs::path cache() const { return home_.path() / "hub"; }

  static void expect_failure(const ProcessResult& result, const std::string& what, int code = 1) {
    EXPECT_EQ(result.exit_code, code);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, MatchesRegex("d3: error: [^\n]*\n"));
    EXPECT_THAT(result.err, HasSubstr(what));
  }

  FakeHub hub_;
  test::TemporaryDirectory home_;
};

constexpr const char* kAsk = " --dtype float32 --state x --noul y";

TEST_F(CliHub, AnswersByName) {
  const ProcessResult by_name = run(std::string("$D3 ask org/model") + kAsk);
  EXPECT_EQ(by_name.exit_code, 0) << by_name.err;
  EXPECT_THAT(by_name.err, HasSubstr("d3: pulling org/model into " + cache().string() + "\n"));
  EXPECT_THAT(by_name.err, HasSubstr("d3: pulled org/model: "));
  EXPECT_EQ(by_name.out, run("$D3 ask " + checkpoint() + kAsk).out);
  const ProcessResult again = run(std::string("$D3 ask org/model") + kAsk);
  EXPECT_EQ(again.out, by_name.out);
  EXPECT_EQ(again.err, "");
  const size_t requests = hub_.requests().size();
  EXPECT_EQ(run(std::string("$D3 ask org/model --offline") + kAsk).out, by_name.out);
  EXPECT_EQ(run(std::string("HF_HUB_OFFLINE=1 $D3 ask org/model") + kAsk).out, by_name.out);
  EXPECT_EQ(hub_.requests().size(), requests);
}

TEST_F(CliHub, EveryCommandTakesAName) {
  EXPECT_THAT(run("$D3 inspect org/model").out, HasSubstr("parameters"));
  EXPECT_EQ(run("$D3 tokenize org/model", "echo '\"a\"' | ").exit_code, 0);
  EXPECT_THAT(run("$D3 prompt org/model", R"(echo '{"state":"x","questions":{"q":{"type":"noul"}}}' | )").out,
              HasSubstr("input_ids"));
}

TEST_F(CliHub, PullsListsAndRemoves) {
  const ProcessResult none = run("$D3 list");
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("no decision models in " + cache().string()));
  const ProcessResult pulled = run("$D3 pull org/model");
  EXPECT_EQ(pulled.exit_code, 0) << pulled.err;
  const std::string snapshot = (cache() / "models--org--model/snapshots" / FakeHub::kCommit).string();
  EXPECT_EQ(pulled.out, snapshot + "\n");
  EXPECT_THAT(pulled.err, HasSubstr("org/model: 100 %, "));  // lines, not a bar
  EXPECT_EQ(pulled.err.find('\r'), std::string::npos);
  EXPECT_THAT(run("$D3 list").out, MatchesRegex("org/model  main  01234567  +[0-9.]+ [kM]B\n"));
  EXPECT_EQ(run("$D3 inspect " + snapshot).exit_code, 0);
  const ProcessResult removed = run("$D3 rm org/model");
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_THAT(removed.err, MatchesRegex("d3: removed org/model: [0-9.]+ [kM]B\n"));
  EXPECT_FALSE(fs::exists(cache() / "models--org--model"));
  expect_failure(run("$D3 rm org/model"), "the cache has no decision model org/model");
}

TEST_F(CliHub, ADirectoryWins) {
  const ProcessResult result =
      run("$D3 inspect org/model", "mkdir -p " + home_.path().string() + "/org && ln -s " + checkpoint() +
                                       " " + home_.path().string() + "/org/model && cd " +
                                       home_.path().string() + " && ");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(hub_.requests().empty());
}

TEST_F(CliHub, SaysWhatIsWrong) {
  expect_failure(run("$D3 ask org/other" + std::string(kAsk)), "there is no model org/other");
  expect_failure(run("$D3 ask org/model@v9" + std::string(kAsk)), "org/model has no revision v9");
  expect_failure(run("$D3 pull org/model --revision v9"), "org/model has no revision v9");
  expect_failure(run("$D3 ask nothing" + std::string(kAsk)), "there is no directory nothing");
  expect_failure(run("$D3 ask ./org/model" + std::string(kAsk)), "./org/model");
  expect_failure(run("$D3 ask org--x/model" + std::string(kAsk)), "cannot be the name of a model");
  expect_failure(run("$D3 ask org/model --offline" + std::string(kAsk)), "offline");
  expect_failure(run("$D3 pull org/model@main --revision main"), "twice", 2);
  expect_failure(run("$D3 inspect " + checkpoint() + " --revision main"), "--revision", 2);
}

TEST_F(CliHub, AFileThatMayNotGrowIsAnError) {
  const ProcessResult result = run("$D3 pull org/model", "ulimit -f 8; ");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("larger than a file may be"));
  EXPECT_EQ(run("$D3 pull org/model").exit_code, 0);
  EXPECT_EQ(run("$D3 inspect org/model --offline").exit_code, 0);
}

/// The state of a line of `d3 doctor`, and the text behind its name.
std::string finding(const ProcessResult& result, const std::string& name) {
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);)
    if (line.substr(6).starts_with(name)) return line.substr(0, line.find(' ')) + ": " + line.substr(18);
  return "(none)";
}

TEST_F(CliHub, DoctorAsksTheNetworkWhenItIsToldTo) {
  EXPECT_EQ(run("HF_TOKEN=hf_secret $D3 doctor").exit_code, 0);
  EXPECT_TRUE(hub_.requests().empty());
  const std::string doctor = "$D3 doctor --network --model org/model";
  const ProcessResult result = run("HF_TOKEN=hf_secret " + doctor);
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(finding(result, "hub"), MatchesRegex("ok: " + hub_.url() + " answers in [0-9.]+ s"));
  EXPECT_EQ(finding(result, "token"), "ok: the hub knows it as tester's");
  EXPECT_THAT(finding(result, "rate"), MatchesRegex("(ok|slow): .*([kMG]B/s over one connection|at once).*"));
  EXPECT_THAT(result.out + result.err, testing::Not(HasSubstr("hf_secret")));
  for (const test::HubRequest& request : hub_.requests())
    EXPECT_EQ(request.authorization, request.storage ? "" : "Bearer hf_secret") << request.target;
  EXPECT_FALSE(fs::exists(cache() / "models--org--model"));

  const ProcessResult refused = run("HF_TOKEN=hf_old " + doctor);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(finding(refused, "token"), "bad: the hub does not know it");
  const ProcessResult anonymous = run(doctor);
  EXPECT_EQ(anonymous.exit_code, 0) << anonymous.out;
  EXPECT_EQ(finding(anonymous, "token"), "ok: none; only gated models need one");
}

TEST_F(CliHub, DoctorSaysWhyNothingCanBePulled) {
  const ProcessResult away = run("HF_ENDPOINT=http://127.0.0.1:1 $D3 doctor --network");
  EXPECT_EQ(away.exit_code, 1);
  EXPECT_EQ(finding(away, "hub"), "bad: http://127.0.0.1:1 cannot be asked");
  EXPECT_THAT(away.out, HasSubstr("127.0.0.1:1 does not answer"));
  hub_.misbehave(
      [](const test::HubRequest&, const std::string&) -> std::optional<test::LoopbackServer::Reply> {
        return {{test::http_answer("503 Service Unavailable", "")}};
      });
  EXPECT_THAT(finding(run("$D3 doctor --network"), "hub"), HasSubstr("bad: "));
  hub_.misbehave(nullptr);
  const ProcessResult other = run("$D3 doctor --network --model org/other");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(finding(other, "rate"), "bad: not known");
  EXPECT_THAT(other.out, HasSubstr("there is no model org/other"));
  const size_t requests = hub_.requests().size();
  const ProcessResult offline = run("HF_HUB_OFFLINE=1 $D3 doctor --network");
  EXPECT_EQ(offline.exit_code, 0);
  EXPECT_EQ(finding(offline, "hub"), "slow: not asked: HF_HUB_OFFLINE is set");
  EXPECT_EQ(run("$D3 doctor --model org/model").exit_code, 2);  // without --network it means nothing
  EXPECT_EQ(hub_.requests().size(), requests);
}

TEST_F(CliHub, TwoProcessesAtOnce) {
  const ProcessResult result =
      run("sh -c '$D3 pull org/model & first=$!; $D3 pull org/model && wait $first'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const auto& [path, file] : files()) EXPECT_LE(hub_.count(FakeHub::etag(file)), 1) << path;
  EXPECT_EQ(run("$D3 inspect org/model --offline --verify full").exit_code, 0);
}

}  // namespace
}  // namespace d3::cli
