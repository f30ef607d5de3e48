// `d3 batch`, run as a user runs it.
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/answer_file.h"
#include "cli/line_reader.h"
#include "json/parse.h"
#include "support/file_content.h"
#include "support/micro_checkpoint.h"
#include "support/probabilities.h"
#include "support/process.h"
#include "support/temporary_directory.h"

namespace d3::cli {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::ProcessResult;
using test::run_shell;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A request of one to three questions whose state is as long as the number says.
std::string request(int number) {
  std::string text = R"({"state":"item )" + std::to_string(number) +
                     std::string(static_cast<size_t>(number % 37), 'x') + R"(","questions":{)";
  for (int i = 0; i <= number % 3; ++i)
    text += (i > 0 ? ",\"q" : "\"q") + std::to_string(i) +
            R"(":{"type":"choice","instructions":"Which?","criteria":{"one":null,"two":null,"three":null}})";
  return text + "}}";
}

class CliBatch : public test::MicroCheckpointTest {
 protected:
  fs::path path(const char* name) const { return directory_.path() / name; }

  void write_requests(int count) const {
    std::ofstream file(path("in"));
    for (int i = 1; i <= count; ++i) file << request(i) << '\n';
  }

  ProcessResult batch(const std::string& more = {}, const char* output = "out") const {
    return run_shell("$D3 batch " + checkpoint() + " --dtype float32 " + path("in").string() + " -o " +
                     path(output).string() + " " + more);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(CliBatch, AnswersEveryLineInOrder) {
  constexpr int kCount = 100;
  write_requests(kCount);
  const ProcessResult result = batch();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("d3: 100 lines and "));
  const auto lines = lines_of(content_of(path("out")));
  ASSERT_EQ(lines.size(), size_t{kCount});
  for (int i = 1; i <= kCount; ++i) {
    const auto number = static_cast<size_t>(i);
    EXPECT_THAT(lines[number - 1], StartsWith("{\"line\":" + std::to_string(i) + ",\"id\":\"decision-line-"));
    EXPECT_EQ(test::probabilities_of(lines[number - 1]).size(), 3 * (number % 3 + 1));
  }
  for (const int i : {1, 50, 100}) {
    const ProcessResult alone = run_shell("$D3 ask " + checkpoint() + " --dtype float32 --json", request(i));
    EXPECT_LE(test::largest_gap(test::probabilities_of(lines[static_cast<size_t>(i) - 1]),
                                test::probabilities_of(alone.out)),
              1e-5);
  }
}

TEST_F(CliBatch, ReportsBadLinesAndGoesOn) {
  std::ofstream(path("in")) << request(1) << "\nno JSON\n\n"
                            << R"({"state":"x","questions":{}})" << '\n'
                            << R"({"state":")" << std::string(100'000, 'x')
                            << R"(","questions":{"q":{"type":"noul"}}})" << '\n'
                            << request(2);  // without a line feed at the end
  const ProcessResult result = batch("--max-length 400");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("d3: line 2: "));
  EXPECT_THAT(result.err, HasSubstr("d3: line 4: questions"));
  EXPECT_THAT(result.err, HasSubstr("d3: line 5: "));
  EXPECT_THAT(result.err, HasSubstr("d3: error: 3 lines could not be answered"));
  const auto lines = lines_of(content_of(path("out")));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[0], StartsWith(R"({"line":1,"id":)"));
  EXPECT_THAT(lines[1], StartsWith(R"({"line":2,"error":{"message":)"));
  EXPECT_THAT(lines[2], StartsWith(R"({"line":4,"error":)"));
  EXPECT_THAT(lines[3], StartsWith(R"({"line":5,"error":)"));
  EXPECT_THAT(lines[4], StartsWith(R"({"line":6,"id":)"));
  for (const std::string& line : lines) EXPECT_NO_THROW(json::parse(line));
}

TEST_F(CliBatch, GoesOnAfterBeingKilled) {
#ifdef D3_SANITIZED  // some twenty times slower
  constexpr int kCount = 300;
#else
  constexpr int kCount = 1500;
#endif
  write_requests(kCount);
  ASSERT_EQ(batch({}, "whole").exit_code, 0);
  const std::string whole = content_of(path("whole"));
  for (const size_t share : {size_t{4}, size_t{2}}) {
    // Killed when so much of the output is there.
    const std::string wait =
        test::wait_until("[ \"$(stat -c %s " + path("out").string() + " 2>/dev/null || echo 0)\" -ge " +
                             std::to_string(whole.size() / share) + " ]",
                         "$!");
    run_shell("$D3 batch " + checkpoint() + " --dtype float32 " + path("in").string() + " -o " +
              path("out").string() + " 2>/dev/null & " + wait + "kill -9 $!; wait $! 2>/dev/null");
    ASSERT_LT(content_of(path("out")).size(), whole.size());
  }
  const size_t there = lines_of(content_of(path("out"))).size();
  const ProcessResult result = batch();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("d3: going on after line "));
  EXPECT_EQ(content_of(path("out")), whole);
  EXPECT_THAT(result.err,
              HasSubstr("d3: " + std::to_string(kCount - static_cast<int>(there)) + " lines and "));
}

TEST_F(CliBatch, DoesNothingTwice) {
  write_requests(5);
  ASSERT_EQ(batch().exit_code, 0);
  const std::string whole = content_of(path("out"));
  const ProcessResult again = batch();
  EXPECT_THAT(again.err, HasSubstr("going on after line 5"));
  EXPECT_THAT(again.err, HasSubstr("d3: 0 lines"));
  EXPECT_EQ(content_of(path("out")), whole);
  std::ofstream(path("out"), std::ios::app) << R"({"line":6,"id":"cut off)";
  EXPECT_EQ(batch().exit_code, 0);
  EXPECT_EQ(content_of(path("out")), whole);
  const ProcessResult anew = batch("--restart");
  EXPECT_THAT(anew.err, HasSubstr("d3: 5 lines"));
  EXPECT_EQ(lines_of(content_of(path("out"))).size(), 5U);
}

TEST_F(CliBatch, LeavesOtherFilesAlone) {
  write_requests(1);
  for (const std::string& content :
       {std::string("my notes"), std::string("my\nnotes\n"), std::string("{\"line\":1,\"id\":1}\nnotes\n"),
        std::string("{\"line\":0,}\n")}) {
    std::ofstream(path("out")) << content;
    const ProcessResult result = batch();
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, HasSubstr("holds what no batch like this has written"));
    EXPECT_EQ(content_of(path("out")), content);
  }
}

TEST_F(CliBatch, SaysWhatIsWrong) {
  EXPECT_THAT(batch().err, HasSubstr("cannot open " + path("in").string()));
  write_requests(1);
  EXPECT_EQ(run_shell("$D3 batch " + checkpoint() + " " + path("in").string()).exit_code, 2);
  EXPECT_THAT(run_shell("$D3 batch " + checkpoint() + " " + path("in").string() + " -o /dev/full").err,
              HasSubstr("/dev/full: cannot be written"));
  EXPECT_THAT(
      run_shell("$D3 batch " + checkpoint() + " " + path("in").string() + " -o " + path("no/out").string())
          .err,
      HasSubstr("no/out: No such file"));
}

TEST_F(CliBatch, ReadsAndWritesStreams) {
  const ProcessResult result = run_shell("cat | $D3 batch " + checkpoint() + " - -o /dev/stdout | cat",
                                         request(1) + "\n" + request(2) + "\n");
  EXPECT_EQ(lines_of(result.out).size(), 2U) << result.err;
}

TEST(LineReaderTest, ReadsLinesOfAnyLength) {
  const std::string long_line(200'000, 'a');
  std::string text = "one\n\n" + long_line + "\n" + long_line + "b\nlast";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fmemopen(text.data(), text.size(), "r"),
                                                             std::fclose);
  LineReader reader(file.get(), "memory", long_line.size());
  const auto one = reader.next();
  EXPECT_EQ(one->text, "one");
  EXPECT_EQ(one->number, 1);
  EXPECT_EQ(one->end, 4U);
  EXPECT_EQ(reader.next()->text, "");
  EXPECT_EQ(reader.next()->text, long_line);
  const auto too_long = reader.next();
  EXPECT_TRUE(too_long->too_long);
  EXPECT_EQ(too_long->text, "");
  const auto last = reader.next();
  EXPECT_EQ(last->text, "last");
  EXPECT_EQ(last->number, 5);
  EXPECT_EQ(last->end, text.size());
  EXPECT_FALSE(reader.next());
}

TEST(AnswerFileTest, KnowsItsLines) {
  EXPECT_EQ(line_number_of(R"({"line":12,"id":1})"), 12);
  for (const char* line : {"", "{}", R"({"line":12})", R"({"line":-1,})", R"({"line":0,)", R"( {"line":1,)",
                           R"({"line":99999999999999999999,)", R"({"line":,)"})
    EXPECT_EQ(line_number_of(line), 0) << line;
}

}  // namespace
}  // namespace d3::cli
