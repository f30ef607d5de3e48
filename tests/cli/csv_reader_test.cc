// Tables of comma-separated values: RFC 4180's rules and what happens to rows that break them.
#include "cli/csv_reader.h"

#include <cstdio>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<CsvRow> rows_of(std::string text, char delimiter = ',', const CsvLimits& limits = {}) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fmemopen(text.data(), text.size(), "r"),
                                                             std::fclose);
  CsvReader reader(file.get(), "memory", delimiter, limits);
  std::vector<CsvRow> rows;
  while (auto row = reader.next()) rows.push_back(std::move(*row));
  return rows;
}

TEST(CsvReaderTest, ReadsQuotesAndLineFeedsInFields) {
  const auto rows = rows_of("id,text\r\n1,\"a, b\"\r\n2,\"say \"\"hi\"\"\nand go\"\r\n3,\"\"\n4,last");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_THAT(rows[0].fields, ElementsAre("id", "text"));
  EXPECT_TRUE(rows[0].ends_with_crlf);
  EXPECT_THAT(rows[1].fields, ElementsAre("1", "a, b"));
  EXPECT_THAT(rows[2].fields, ElementsAre("2", "say \"hi\"\nand go"));
  EXPECT_THAT(rows[3].fields, ElementsAre("3", ""));
  EXPECT_FALSE(rows[3].ends_with_crlf);
  EXPECT_THAT(rows[4].fields, ElementsAre("4", "last"));
  EXPECT_FALSE(rows[4].ends_with_line_feed);
  EXPECT_EQ(rows[3].line, 5);  // the third began in line 3 and had two lines
  EXPECT_EQ(rows[4].line, 6);
  for (const CsvRow& row : rows) EXPECT_THAT(row.fault, IsEmpty());
}

TEST(CsvReaderTest, PassesOverAMarkAndEmptyLines) {
  const auto rows = rows_of("\xef\xbb\xbf\"a\",b\n\n\r\n,\n\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].fields, ElementsAre("a", "b"));
  EXPECT_THAT(rows[1].fields, ElementsAre("", ""));
  EXPECT_EQ(rows[1].line, 4);
  EXPECT_THAT(rows_of(""), IsEmpty());
  EXPECT_THAT(rows_of("\xef\xbb\xbf"), IsEmpty());
}

TEST(CsvReaderTest, TakesOtherDelimiters) {
  EXPECT_THAT(rows_of("a;b,c;\"d;e\"\n", ';')[0].fields, ElementsAre("a", "b,c", "d;e"));
  EXPECT_THAT(rows_of("a\tb c\n", '\t')[0].fields, ElementsAre("a", "b c"));
}

TEST(CsvReaderTest, NamesFaultsAndGoesOn) {
  const auto rows = rows_of("a,b\"c,d\n1,\"x\"y,2\n2,x\ry\nfine,row\n3,\"open\nfor ever\n");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_THAT(rows[0].fault, HasSubstr("a quote within a field"));
  EXPECT_THAT(rows[1].fault, HasSubstr("text between a closing quote and"));
  EXPECT_THAT(rows[2].fault, HasSubstr("carriage return without"));
  EXPECT_THAT(rows[3].fault, IsEmpty());
  EXPECT_THAT(rows[3].fields, ElementsAre("fine", "row"));
  EXPECT_THAT(rows[4].fault, HasSubstr("a quote that nothing closes"));
  EXPECT_EQ(rows[4].line, 5);
  EXPECT_FALSE(rows[4].ends_with_line_feed);
}

TEST(CsvReaderTest, KeepsNothingOfRowsOverTheLimits) {
  const auto rows = rows_of("12345678901\n\"1234567\n8901\",x\nok\n1,2,3,4\n1,2,3\n", ',',
                            {.max_bytes = 10, .max_fields = 3});
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0].fault, "is too long");
  EXPECT_THAT(rows[0].fields, IsEmpty());
  EXPECT_EQ(rows[1].fault, "is too long");
  EXPECT_THAT(rows[2].fault, HasSubstr("a quote within"));  // what was left of it
  EXPECT_THAT(rows[3].fields, ElementsAre("ok"));
  EXPECT_THAT(rows[4].fault, HasSubstr("more fields"));
  EXPECT_THAT(rows[5].fields, ElementsAre("1", "2", "3"));
}

TEST(CsvReaderTest, CountsDoubledQuotes) {
  const std::string quotes(24, '"');
  EXPECT_EQ(rows_of(quotes + "\n", ',', {.max_bytes = 11})[0].fields[0], std::string(11, '"'));
  EXPECT_EQ(rows_of(quotes + "\n", ',', {.max_bytes = 10})[0].fault, "is too long");
}

TEST(CsvReaderTest, ReadsFieldsOfAnyLength) {
  std::string field(200'000, 'x');
  field[65'535] = '"';  // at the end of a piece that is read at once
  field[70'000] = '\n';
  std::string text = "a,";
  append_csv_field(text, field, ',');
  text += "\nb,c\n";
  const auto rows = rows_of(text);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].fields[1], field);
  EXPECT_EQ(rows[0].end + 4, text.size());
  EXPECT_EQ(rows[1].line, 3);
}

TEST(CsvReaderTest, RefusesUtf16) {
  EXPECT_THROW(rows_of(std::string("\xff\xfe"
                                   "a\0",
                                   4)),
               Error);
  EXPECT_THROW(rows_of(std::string("\xfe\xff\0a", 4)), Error);
}

TEST(CsvFieldTest, QuotesWhatMustBe) {
  const auto written = [](std::string_view field) {
    std::string out;
    append_csv_field(out, field, ';');
    return out;
  };
  EXPECT_EQ(written("plain, text"), "plain, text");
  EXPECT_EQ(written("a;b"), "\"a;b\"");
  EXPECT_EQ(written("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(written("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(written(""), "");
}

}  // namespace
}  // namespace d3::cli
