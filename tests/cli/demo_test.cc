// The model inside the program, as a user meets it: no file, no cache and no network are needed.
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/number.h"
#include "json/parse.h"
#include "support/file_content.h"
#include "support/http_client.h"
#include "support/process.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::cli {
namespace {

using test::ProcessResult;
using test::ServeProcess;
using testing::HasSubstr;
using testing::MatchesRegex;

// The README's first request.
constexpr const char* kRequest =
    R"({"state": "Write a Python function that merges two sorted lists.", "questions": {"kind": {"type": "choice", )"
    R"("instructions": "What kind of work is this?", "criteria": {"code": "Writing or fixing code", )"
    R"("math": "Mathematics", "chat": "Anything else"}}, "reasoning": {"type": "noul", )"
    R"("instructions": "Does answering this need multi-step reasoning?"}}})";

class CliDemo : public testing::Test {
 protected:
  /// In an empty directory, with an empty cache and a hub that nobody answers for.
  ProcessResult run(const std::string& command, const std::string& input = {}) const {
    return test::run_shell("cd " + home_.path().string() + " && HF_HOME=" + home_.path().string() +
                               " HF_ENDPOINT=http://127.0.0.1:9 " + command,
                           input);
  }
  std::string path(const char* name) const { return (home_.path() / name).string(); }

  static std::string kind_of(const std::string& answer) {
    return std::string(json::parse(answer).find("answers")->find("kind")->find("choice")->as_string());
  }

  test::TemporaryDirectory home_;
};

TEST_F(CliDemo, Answers) {
  const ProcessResult json = run("$D3 ask demo --json", kRequest);
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(json.err, "");
  EXPECT_EQ(kind_of(json.out), "code");
  const ProcessResult table =
      run("$D3 ask demo --dtype float32 --state 'The goalkeeper saved the second shot.' --choice 'topic: "
          "What is it about?' "
          "--option sport --option food --option music");
  EXPECT_THAT(table.out, HasSubstr("sport")) << table.err;
  // A directory of that name is meant by its path alone.
  std::filesystem::create_directory(home_.path() / "demo");
  EXPECT_EQ(run("$D3 ask demo --json", kRequest).exit_code, 0);
  EXPECT_THAT(run("$D3 ask ./demo --json", kRequest).err, HasSubstr("config.json"));
}

TEST_F(CliDemo, AnswersAboutPicturesAndVideos) {
  const ProcessResult result =
      run("$D3 ask demo --state '' --image " + test::data_path("media/rgb.png").string() + " --video " +
          test::data_path("media/short.mp4").string() + " --noul 'Does anything move?'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Does anything move?"));
}

TEST_F(CliDemo, AnswersAFileOfRequests) {
  const std::string file = (std::filesystem::path(D3_SOURCE_DIR) / "models/demo/handwritten.jsonl").string();
  const ProcessResult result = run("$D3 batch demo " + file + " -o answers.jsonl");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::ifstream answers(path("answers.jsonl"));
  int count = 0;
  for (std::string line; std::getline(answers, line); ++count) {
    const json::Value answer = json::parse(line);
    EXPECT_EQ(answer.find("model")->as_string(), "demo");
    EXPECT_EQ(answer.find("answers")->as_object().size(), 1U);
  }
  EXPECT_EQ(count, 10);
}

TEST_F(CliDemo, IsNeitherPulledNorRemoved) {
  const ProcessResult pulled = run("$D3 pull demo");
  EXPECT_EQ(pulled.exit_code, 0);
  EXPECT_EQ(pulled.out, "demo\n");
  EXPECT_THAT(pulled.err, HasSubstr("part of this program"));
  EXPECT_EQ(run("$D3 pull demo --revision main").exit_code, 2);
  EXPECT_EQ(run("$D3 inspect demo --revision main").exit_code, 2);
  const ProcessResult removed = run("$D3 rm demo");
  EXPECT_EQ(removed.exit_code, 2);
  EXPECT_THAT(removed.err, HasSubstr("cannot be removed"));
  const ProcessResult list = run("$D3 list");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.out, "");
  EXPECT_THAT(list.err, HasSubstr("demo is part of this program"));
  EXPECT_EQ(run("$D3 list --names").out, "demo\n");
}

TEST_F(CliDemo, SaysWhatItIs) {
  const ProcessResult result = run("$D3 inspect demo --verify full");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* word : {"demonstration", "d3-nano", "answer codes  255", "(full check)"})
    EXPECT_THAT(result.out, HasSubstr(word));
  EXPECT_THAT(run("$D3 serve --help").out, HasSubstr("demo"));
}

TEST_F(CliDemo, IsReadAsItReads) {
  EXPECT_EQ(run("$D3 tokenize demo", "\"a b\"\n").exit_code, 0);
  const ProcessResult prompt = run("$D3 prompt demo", kRequest);
  EXPECT_EQ(prompt.exit_code, 0) << prompt.err;
  EXPECT_THAT(prompt.out, HasSubstr("input_ids"));
}

TEST_F(CliDemo, IsTimed) {
  const ProcessResult result = run("$D3 bench demo --dtype float32,bfloat16 --tokens 16 --rounds 1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("d3 serve demo --dtype float32"));
}

TEST_F(CliDemo, Serves) {
  ServeProcess server({"demo"});
  server.wait_until_ready();
  test::HttpClient client(server.port());
  const test::HttpResponse answer = client.post("/v1/systemone", kRequest);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(kind_of(answer.body), "code");
  EXPECT_EQ(json::parse(answer.body).find("model")->as_string(), "demo");
  const json::Value models = json::parse(client.get("/v1/models").body);
  EXPECT_EQ(models.find("data")->as_array().size(), 1U) << "one name, said once";
  const std::string description(models.find("models")->as_array().at(0).find("description")->as_string());
  EXPECT_THAT(description, HasSubstr("demonstration"));
  EXPECT_THAT(description, HasSubstr("d3-nano"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_THAT(server.errors(), HasSubstr("demonstration"));
}

}  // namespace
}  // namespace d3::cli
