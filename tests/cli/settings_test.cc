// Options from the environment and from files, completion and the manual, run as a user runs them.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/config_file.h"
#include "json/parse.h"
#include "support/process.h"
#include "support/temporary_directory.h"

namespace d3::cli {
namespace {

namespace fs = std::filesystem;
using test::ProcessResult;
using test::run_shell;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Settings : public testing::Test {
 protected:
  fs::path write(const char* name, const std::string& text) const {
    const fs::path path = directory_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  /// What `d3 serve` says when --threads is out of range: the value it took.
  std::string error(const std::string& before, const std::string& options = {}) const {
    const ProcessResult result = run_shell("XDG_CONFIG_HOME=" + directory_.path().string() + " " + before +
                                           " $D3 serve nowhere " + options);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(Settings, TheCommandLineIsBeforeTheEnvironmentBeforeTheFile) {
  const fs::path file = write("d3/config.toml", "threads = 5001\n[serve]\nport = 70001\n");
  EXPECT_THAT(error(""), HasSubstr("5001"));
  EXPECT_THAT(error(""), HasSubstr("is from " + file.string() + ", line 1)"));
  EXPECT_THAT(error("D3_THREADS=5002"), HasSubstr("5002"));
  EXPECT_THAT(error("D3_THREADS=5002"), HasSubstr("is from the environment: D3_THREADS)"));
  EXPECT_THAT(error("D3_THREADS=5002", "--threads 5003"), HasSubstr("5003"));
  EXPECT_THAT(error("D3_THREADS=5002", "--threads=5003"), Not(HasSubstr("is from")));
  EXPECT_THAT(error("D3_THREADS=5002 D3_PORT=1", "--threads 1 --max-queue 0"), HasSubstr("--max-queue"));
  // A command's own entry is before the one for all, and the file that is named before the others.
  write("d3/config.toml", "threads = 5001\n[serve]\nthreads = 5004\n[bench]\nthreads = 5005\n");
  EXPECT_THAT(error(""), HasSubstr("5004"));
  const fs::path other = write("other.toml", "threads = 5006\n");
  EXPECT_THAT(error("", "--config " + other.string()), HasSubstr("5006"));
  EXPECT_THAT(error("D3_CONFIG=" + other.string()), HasSubstr("5006"));
}

TEST_F(Settings, LeavesOutWhatTheCommandLineExcludes) {
  write("d3/config.toml", "[serve]\nport = 8001\nmax-queue = 0\n");
  EXPECT_THAT(error("D3_HOST=0.0.0.0", "--unix socket"), HasSubstr("--max-queue"));
}

TEST_F(Settings, RefusesWhatNoCommandHas) {
  const fs::path file = write("d3/config.toml", "# comment\nthread = 1\n");
  EXPECT_THAT(error(""), HasSubstr(file.string() + ", line 2: no command has an option thread"));
  write("d3/config.toml", "[serve]\nrounds = 1\n");
  EXPECT_THAT(error(""), HasSubstr("line 2: there is no option rounds of d3 serve"));
  write("d3/config.toml", "\n[server]\nport = 1\n");
  EXPECT_THAT(error(""), HasSubstr("there is no command server"));
  write("d3/config.toml", "threads = \n");
  EXPECT_THAT(error(""), HasSubstr("line 1: "));
  EXPECT_THAT(run_shell("$D3 list --config " + directory_.path().string() + "/none").err,
              HasSubstr("cannot open"));
  // Help is there whatever the files hold.
  EXPECT_EQ(run_shell("XDG_CONFIG_HOME=" + directory_.path().string() + " $D3 serve --help").exit_code, 0);
}

TEST(ConfigFile, GivesValuesAsTheCommandLineHasThem) {
  const auto entries = parse_config("b = true\nn = 2.5\n[serve]\napi-key = [\"one\", \"two\"]\n", "F");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].command, "serve");
  EXPECT_THAT(entries[0].values, ElementsAre("one", "two"));
  EXPECT_EQ(entries[0].place, "F, line 4");
  EXPECT_THAT(entries[1].values, ElementsAre("true"));
  EXPECT_THAT(entries[2].values, ElementsAre("2.5"));
  EXPECT_THAT(parse_config("", "F"), IsEmpty());
  for (const char* text : {"a = 1979-05-27", "a = [[1]]", "[a.b]\nc = 1", "a = 1\na = 2", "a", "= 1", "[a\n"})
    EXPECT_THROW(parse_config(text, "F"), UsageError) << text;
}

TEST(Help, NamesTheVariables) {
  const ProcessResult help = run_shell("$D3 serve --help");
  EXPECT_THAT(help.out, HasSubstr("[D3_MAX_QUEUE]"));
  EXPECT_THAT(help.out, HasSubstr("[D3_API_KEY]"));
}

TEST(Doctor, TellsWhatIsThereAndNoSecrets) {
  test::TemporaryDirectory directory;
  const std::string cache = "HF_HUB_CACHE=" + directory.path().string() + " ";
  const ProcessResult text = run_shell(cache + "HF_TOKEN=hf_verysecret $D3 doctor");
  EXPECT_EQ(text.exit_code, 0) << text.out;
  EXPECT_THAT(text.out, HasSubstr("token       there is one"));
  EXPECT_THAT(text.out + text.err, Not(HasSubstr("verysecret")));
  EXPECT_THAT(text.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run_shell(cache + "$D3 doctor --color always").out, HasSubstr("\x1b["));
  const json::Value report = json::parse(run_shell(cache + "$D3 doctor --json").out);
  for (const char* name : {"processor", "kernels", "arithmetic", "oneDNN", "CPUs", "memory", "huge pages",
                           "self-test", "cache"}) {
    ASSERT_NE(report.find(name), nullptr) << name;
    EXPECT_NE(report.find(name)->find("value")->as_string(), "") << name;
  }
  EXPECT_THAT(std::string(report.find("self-test")->find("value")->as_string()),
              HasSubstr("demo answers rightly in bfloat16"));
  const ProcessResult bad = run_shell("HF_HUB_CACHE=/etc/passwd/cache $D3 doctor");
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("/etc/passwd is no directory to write to"));
}

/// What bash offers for the words of a line, the last of which is begun.
std::string completed(const std::string& words) {
  return run_shell("bash -c 'eval \"$($D3 completion bash)\"; COMP_WORDS=(" + words +
                   "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _d3 2>/dev/null; echo \"${COMPREPLY[*]}\"'")
      .out;
}

TEST(Completion, CompletesInBash) {
  EXPECT_EQ(completed("d3 ser"), "serve\n");
  EXPECT_EQ(completed("d3 serve --dt"), "--dtype\n");
  EXPECT_EQ(completed("d3 serve --dtype \"\""), "auto bfloat16 float32 int8\n");
  EXPECT_EQ(completed("d3 serve --dtype = fl"), "float32\n");
  EXPECT_EQ(completed("d3 --color never list --na"), "--names\n");
  EXPECT_EQ(completed("d3 list --dt"), "\n");
}

TEST(Completion, KnowsEveryCommandInEveryShell) {
  const std::string help = run_shell("$D3 --help").out;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = run_shell(std::string("$D3 completion ") + shell).out;
    for (const char* command :
         {"serve", "ask", "batch", "inspect", "pull", "list", "rm", "bench", "completion"}) {
      EXPECT_THAT(help, HasSubstr(command));
      EXPECT_THAT(script, HasSubstr(command)) << shell;
    }
    EXPECT_THAT(script, HasSubstr("max-queue")) << shell;
  }
  EXPECT_EQ(run_shell("$D3 completion tcsh").exit_code, 2);
}

TEST(Manual, HasEveryCommandAndOption) {
  const std::string page = run_shell("$D3 man").out;
  EXPECT_THAT(page, HasSubstr(".SS d3 serve MODEL"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-max\\-queue\\fR"));
  EXPECT_THAT(page, HasSubstr("Variable: D3_MAX_QUEUE."));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS"));
}

}  // namespace
}  // namespace d3::cli
