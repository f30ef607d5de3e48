// `d3 batch --questions`: tables in and out, run as a user runs it.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/csv_reader.h"
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
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kQuestions =
    R"({"kind":{"type":"choice","criteria":{"refund":"Money back","other, or \"else\"":null}},)"
    R"("late":{"type":"noul"},"tone":{"type":"score","criteria":["calm","angry"]}})";

std::vector<std::vector<std::string>> table(std::string text, char delimiter = ',') {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fmemopen(text.data(), text.size(), "r"),
                                                             std::fclose);
  CsvReader reader(file.get(), "memory", delimiter);
  std::vector<std::vector<std::string>> rows;
  while (const auto row = reader.next()) {
    EXPECT_EQ(row->fault, "");
    rows.push_back(row->fields);
  }
  return rows;
}

class BatchTable : public test::MicroCheckpointTest {
 protected:
  fs::path path(const char* name) const { return directory_.path() / name; }
  void write(const char* name, const std::string& text) const { std::ofstream(path(name)) << text; }

  ProcessResult batch(const std::string& more = {}, const char* input = "in.csv",
                      const char* output = "out.csv") const {
    write("questions.json", kQuestions);
    return run_shell("$D3 batch " + checkpoint() + " --dtype float32 " + path(input).string() + " -o " +
                     path(output).string() + " --questions " + path("questions.json").string() + " " + more);
  }

  /// Probabilities of the questions about a state, as `d3 ask` gives them.
  std::vector<double> asked(const std::string& state) const {
    const ProcessResult alone = run_shell("$D3 ask " + checkpoint() + " --dtype float32 --json",
                                          R"({"state":)" + state + R"(,"questions":)" + kQuestions + "}");
    return test::probabilities_of(alone.out);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(BatchTable, AddsAnswersToRows) {
  write("in.csv", "id,text\n1,\"late, again\"\n2,\"say \"\"hi\"\"\ntwice\"\n");
  const ProcessResult result = batch("--probabilities");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = table(content_of(path("out.csv")));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[0],
              ElementsAre("id", "text", "kind", "kind.probability", "kind.refund", "kind.other, or \"else\"",
                          "late", "late.probability", "late.false", "late.true", "tone", "tone.probability",
                          "tone.score", "tone.0", "tone.1", "error"));
  EXPECT_EQ(rows[1][1], "late, again");
  EXPECT_EQ(rows[2][1], "say \"hi\"\ntwice");
  const auto expected = asked(R"({"id":"2","text":"say \"hi\"\ntwice"})");
  ASSERT_EQ(expected.size(), 6U);  // late: yes, no
  const std::vector<double> got = {std::stod(rows[2][4]), std::stod(rows[2][5]),  std::stod(rows[2][9]),
                                   std::stod(rows[2][8]), std::stod(rows[2][13]), std::stod(rows[2][14])};
  EXPECT_LE(test::largest_gap(got, expected), 1e-5);
  EXPECT_EQ(rows[2][2], got[0] >= got[1] ? "refund" : "other, or \"else\"");
  EXPECT_EQ(rows[2][3], got[0] >= got[1] ? rows[2][4] : rows[2][5]);
  EXPECT_EQ(rows[2][6], got[2] > got[3] ? "true" : "false");
  EXPECT_EQ(rows[2][10], got[4] >= got[5] ? "calm" : "angry");
  EXPECT_NEAR(std::stod(rows[2][12]), got[5], 2e-6);
  EXPECT_EQ(rows[2][15], "");
}

TEST_F(BatchTable, TakesTheStateFromColumns) {
  write("in.csv", "id;text;more\n1;hello;x\n");
  ASSERT_EQ(batch("--delimiter ';' --state-column text --probabilities").exit_code, 0);
  auto rows = table(content_of(path("out.csv")), ';');
  EXPECT_NEAR(std::stod(rows[1][5]), asked(R"("hello")")[0], 1e-5);
  ASSERT_EQ(
      batch("--delimiter ';' --state-column more --state-column id --probabilities --restart").exit_code, 0);
  rows = table(content_of(path("out.csv")), ';');
  EXPECT_NEAR(std::stod(rows[1][5]), asked(R"({"more":"x","id":"1"})")[0], 1e-5);
}

TEST_F(BatchTable, KeepsMarkLineEndsAndTabs) {
  write("in.tsv", "\xef\xbb\xbfid\ttext\r\n1\ta\r\n");
  ASSERT_EQ(batch({}, "in.tsv", "out.tsv").exit_code, 0);
  const std::string out = content_of(path("out.tsv"));
  EXPECT_THAT(out, StartsWith("\xef\xbb\xbfid\ttext\tkind\tkind.probability\t"));
  EXPECT_THAT(out, EndsWith("\t\r\n"));
  EXPECT_EQ(table(out, '\t').size(), 2U);
}

TEST_F(BatchTable, ReportsHostileRowsAndGoesOn) {
  write("in.csv", "id,text\n1,a\n2,b,c\n3,x\"y\n4,\xff\n\n5\n\"6\n\",f\n7,\"open\n");
  const ProcessResult result = batch();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("d3: line 3: has 3 fields where the table has 2 columns"));
  EXPECT_THAT(result.err, HasSubstr("d3: line 4: has a quote within"));
  EXPECT_THAT(result.err, HasSubstr("d3: line 5: "));
  EXPECT_THAT(result.err, HasSubstr("d3: line 7: has 1 fields"));
  EXPECT_THAT(result.err, HasSubstr("d3: line 10: has a quote that nothing closes"));
  const auto rows = table(content_of(path("out.csv")));
  ASSERT_EQ(rows.size(), 8U);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(rows[1].back(), "");
  EXPECT_EQ(rows[2].back(), "line 3: has 3 fields where the table has 2 columns");
  EXPECT_EQ(rows[2][0], "2");
  EXPECT_EQ(rows[2][2], "");
  EXPECT_THAT(rows[4].back(), HasSubstr("UTF-8"));
  EXPECT_EQ(rows[6][0], "6\n");
  EXPECT_EQ(rows[6].back(), "");
  EXPECT_THAT(rows[7].back(), HasSubstr("nothing closes"));
}

TEST_F(BatchTable, GoesOnAfterAnyCut) {
  std::string input = "id,text\n";
  for (size_t i = 0; i < 12; ++i) {
    const std::string text = i % 4 == 3 ? "bad\"row" : "\"x\n\"\"" + std::string(i * 7, 'y') + "\"";
    input += fmt::format("{},{}\n", i, text);
  }
  write("in.csv", input);
  batch();
  const std::string whole = content_of(path("out.csv"));
  ASSERT_EQ(table(whole).size(), 13U);
  for (size_t size = 0; size < whole.size(); size += 97) {
    write("out.csv", whole.substr(0, size));
    const ProcessResult result = batch();
    EXPECT_EQ(content_of(path("out.csv")), whole) << size << ": " << result.err;
  }
  const ProcessResult again = batch();
  EXPECT_THAT(again.err, HasSubstr("going on after row 12"));
  EXPECT_EQ(again.exit_code, 0);
}

TEST_F(BatchTable, SaysWhatIsWrong) {
  write("in.csv", "id,text\n1,a\n");
  write("questions.json", kQuestions);
  EXPECT_THAT(run_shell("$D3 batch " + checkpoint() + " " + path("in.csv").string() + " -o x").err,
              HasSubstr("is a table: --questions says what to ask"));
  EXPECT_EQ(batch("--delimiter ab").exit_code, 2);
  EXPECT_EQ(batch("--delimiter '\"'").exit_code, 2);
  EXPECT_THAT(batch("--state-column none").err, HasSubstr("the table has no column none"));
  write("out.csv", "my own notes\n");
  EXPECT_THAT(batch().err, HasSubstr("holds what no batch like this has written"));
  EXPECT_EQ(content_of(path("out.csv")), "my own notes\n");
  write("in.csv", "kind,text\n1,a\n");
  EXPECT_THAT(batch("--restart").err, HasSubstr("two columns kind"));
  write("in.csv", "a,a\n1,a\n");
  EXPECT_THAT(batch("--restart").err, HasSubstr("two columns have the name"));
  write("in.csv", "");
  EXPECT_THAT(batch("--restart").err, HasSubstr("should name the columns, and there is none"));
  write("in.csv",
        "\xff\xfe"
        "a");
  EXPECT_THAT(batch("--restart").err, HasSubstr("is UTF-16"));
}

}  // namespace
}  // namespace d3::cli
