// The commands of d3, run as a user runs them.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "support/checkpoint_writer.h"
#include "support/micro_checkpoint.h"
#include "support/process.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::cli {
namespace {

using test::ProcessResult;
using test::run_shell;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class Cli : public test::MicroCheckpointTest {
 protected:
  static ProcessResult ask(const std::string& arguments, const std::string& input = {}) {
    return run_shell("$D3 ask " + checkpoint() + " " + arguments, input);
  }
  static void expect_usage_error(const ProcessResult& result, const std::string& what) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, MatchesRegex("d3: error: [^\n]*\n"));
    EXPECT_THAT(result.err, HasSubstr(what));
  }
  static void expect_failure(const ProcessResult& result, const std::string& what) {
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, MatchesRegex("d3: error: [^\n]*\n"));
    EXPECT_THAT(result.err, HasSubstr(what));
  }
};

TEST_F(Cli, HelpsWithEveryCommand) {
  const ProcessResult help = run_shell("$D3 --help");
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command :
       {"serve", "ask", "batch", "inspect", "tokenize", "prompt", "pull", "list", "rm", "bench"}) {
    EXPECT_THAT(help.out, HasSubstr(command));
    const ProcessResult own = run_shell(std::string("$D3 ") + command + " --help");
    EXPECT_EQ(own.exit_code, 0);
    EXPECT_THAT(own.out, HasSubstr(std::string("Usage: d3 ") + command));
    EXPECT_EQ(own.err, "");
  }
  EXPECT_THAT(run_shell("$D3 --version").out, MatchesRegex("d3 [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_F(Cli, ExplainsWhatIsWrongWithACommandLine) {
  expect_usage_error(run_shell("$D3"), "subcommand");
  expect_usage_error(run_shell("$D3 sing"), "sing");
  expect_usage_error(run_shell("$D3 serve"), "MODEL");
  expect_usage_error(ask("--dtype float8 --state x --noul y"), "float8");
  expect_usage_error(ask("--state x --option a"), "--option");
  expect_usage_error(ask("--state x"), "question");
  expect_usage_error(ask("--noul x"), "--state");
  expect_usage_error(ask("--state x --noul y --request z.json"), "--request");
  expect_usage_error(ask("--state x --noul 'a: x' --noul 'a: y'"), "id a");
}

TEST_F(Cli, PrintsATable) {
  const ProcessResult result =
      ask("--state 'My parcel is late.' --choice 'team: Who helps?' --option post='The post' --option shop "
          "--noul 'Is it late?' --option true=Late --score 'late: How late?' --option hours --option 'many "
          "days'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, StartsWith("team  Who helps?\n"));
  EXPECT_THAT(result.out, MatchesRegex(".*\n  [^ ]+ post +[0-9]+\\.[0-9] %  The post\n.*"));
  EXPECT_THAT(result.out, HasSubstr("\nq2  Is it late?\n"));
  EXPECT_THAT(result.out, HasSubstr("%  Late\n"));
  EXPECT_THAT(result.out, HasSubstr("\nlate  How late?\n"));
  EXPECT_THAT(result.out, MatchesRegex(".*\n    score [0-9.]+ of 0 to 1\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b"))) << "colours belong on terminals only";
}

TEST_F(Cli, CannotBeMadeToControlTheTerminal) {
  const ProcessResult result = ask(
      "",
      R"({"state":1,"questions":{"\u001b[2Jq\r":{"type":"noul","instructions":"\u001b]0;x\u0007\u009b1m"}}})");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.out, Not(HasSubstr("\r")));
  EXPECT_THAT(result.out, Not(HasSubstr("\xc2\x9b")));
}

TEST_F(Cli, PrintsJsonAndReadsRequestsFromEverywhere) {
  const std::string request =
      R"({"state":"x y","questions":{"a":{"type":"noul","instructions":"z"}},"model":"any"})";
  const ProcessResult from_input = ask("--json --dtype float32", request);
  const json::Value answer = json::parse(from_input.out);
  EXPECT_EQ(answer.find("object")->as_string(), "structured_decision");
  EXPECT_EQ(answer.find("model")->as_string(), "any");
  const auto answers = [](const ProcessResult& result) {
    return result.out.substr(std::min(result.out.find("\"answers\""), result.out.size()));
  };
  const test::TemporaryDirectory files;
  const std::string file = (files.path() / "request.json").string();
  std::ofstream(file) << request;
  std::ofstream(files.path() / "state.txt") << "x y";
  EXPECT_EQ(answers(ask("--json --dtype float32 --request " + file)), answers(from_input));
  EXPECT_EQ(answers(ask("--json --dtype float32 --request -", request)), answers(from_input));
  const std::string question = " --json --dtype float32 --noul 'a: z'";
  EXPECT_EQ(answers(ask("--state 'x y'" + question)), answers(from_input));
  EXPECT_EQ(answers(ask("--state - " + question, "x y")), answers(from_input));
  EXPECT_EQ(answers(ask("--state @" + (files.path() / "state.txt").string() + question)),
            answers(from_input));
}

TEST_F(Cli, TellsInOneLineWhatFailed) {
  expect_failure(ask("", "{"), "JSON");
  expect_failure(ask("", R"({"state":1,"questions":{}})"), "questions");
  expect_failure(ask("--request /nowhere.json"), "/nowhere.json");
  expect_failure(ask("--state @/nowhere --noul x"), "/nowhere");
  expect_failure(ask("--state x --choice y"), "questions.q1.criteria");
  expect_failure(ask("--state \"$(printf '\\377')\" --noul y"), "JSON");
  expect_failure(ask("--state 'a b c d e f g' --noul y --max-length 16"), "questions.q1");
  expect_failure(run_shell("$D3 ask /nowhere --state x --noul y"), "/nowhere");
  // Without bf16 instructions bf16 weights are multiplied in fp32; int8 needs no instructions of its own.
  for (const std::string target : {"avx2", "baseline"}) {
    const std::string command =
        "D3_CPU_TARGET=" + target + " $D3 ask " + checkpoint() + " --state x --noul y ";
    const ProcessResult by_default = run_shell(command);
    EXPECT_EQ(by_default.exit_code, 0) << by_default.err;
    EXPECT_EQ(by_default.out, run_shell(command + "--dtype float32").out);
    EXPECT_EQ(by_default.out, run_shell(command + "--dtype bfloat16").out);
    const ProcessResult int8 = run_shell(command + "--dtype int8");
    EXPECT_EQ(int8.exit_code, 0) << int8.err;
  }
  expect_failure(run_shell("D3_CPU_TARGET=z80 $D3 ask " + checkpoint() + " --state x --noul y"), "z80");
  expect_failure(run_shell("$D3 inspect " + checkpoint() + " > /dev/full"), "standard output");
  expect_failure(run_shell("$D3 inspect /"), "config.json");
}

TEST_F(Cli, InspectsACheckpoint) {
  const ProcessResult result = run_shell("$D3 inspect --verify full " + checkpoint());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* word :
       {"d3-micro", "parameters", "2: 1 of linear attention", "answer codes  255", "(full check)", "memory"})
    EXPECT_THAT(result.out, HasSubstr(word));
}

TEST_F(Cli, TimesAModelAndRecommends) {
  const ProcessResult result =
      run_shell("$D3 bench --dtype float32 --tokens 16,32 --rounds 1 --threads 1 " + checkpoint());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* part : {"float32, 1 threads", "\n  16 ", "\n  32 ", "\n  64 x 60..200 ", "mlp.down_proj",
                           "outside products", "--dtype float32 --threads 1"})
    EXPECT_THAT(result.out, HasSubstr(part));
  expect_usage_error(run_shell("$D3 bench --tokens 0 " + checkpoint()), "--tokens");
}

TEST_F(Cli, ShowsTokensAndPrompts) {
  const ProcessResult tokens = run_shell("$D3 tokenize " + checkpoint(), "\"Hello\\nworld\"\n\"\"\n\"x\"");
  EXPECT_EQ(tokens.exit_code, 0) << tokens.err;
  EXPECT_THAT(tokens.out, MatchesRegex("\\[[0-9,]+\\]\n\\[\\]\n\\[[0-9]+\\]\n"));
  expect_failure(run_shell("$D3 tokenize " + checkpoint(), "[1]\n"), "line 1");
  const ProcessResult prompts =
      run_shell("$D3 prompt " + checkpoint(),
                R"({"state":"s","questions":{"a":{"type":"noul"},"b":{"type":"noul","instructions":"b?"}}})");
  EXPECT_EQ(prompts.exit_code, 0) << prompts.err;
  const std::string first = prompts.out.substr(0, prompts.out.find('\n'));
  const json::Value line = json::parse(first);
  EXPECT_EQ(line.find("question")->as_string(), "a");
  EXPECT_THAT(line.find("prompt")->as_string(), StartsWith("<|im_start|>system\n"));
  // The ids are those of the whole prompt: head and tail were tokenized apart.
  std::string text = first.substr(first.find("\"prompt\":") + 9);
  text = text.substr(0, text.find(",\"input_ids\""));
  std::string ids = first.substr(first.find("\"input_ids\":") + 12);
  ids.pop_back();
  EXPECT_EQ(run_shell("$D3 tokenize " + checkpoint(), text + "\n").out, ids + "\n");
}

}  // namespace
}  // namespace d3::cli
