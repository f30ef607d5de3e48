#include "json/render.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "json/parse.h"
#include "json/write.h"
#include "test_paths.h"

namespace d3::json {
namespace {

TEST(Render, EqualsPythonOnEveryGoldenCase) {
  std::ifstream file(test::data_path("json.jsonl"));
  ASSERT_TRUE(file);
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const Value value = parse(line);
    EXPECT_EQ(render(parse(value.find("in")->as_string())), value.find("out")->as_string()) << line;
  }
  EXPECT_EQ(cases, 299);
}

TEST(Render, SortsKeysByCodePointAndCompacts) {
  EXPECT_EQ(render_sorted(parse(R"({"b": [1, 2.50, {"z": null, "a": true}], "a": "x, y: z", "": -0})")),
            R"({"":0,"a":"x, y: z","b":[1,2.5,{"a":true,"z":null}]})");
  // U+FFFD, U+1F600 and U+10000 follow code points, not UTF-16 units.
  EXPECT_EQ(render_sorted(parse(R"({"😀": 1, "𐀀": 2, "�": 3, "é": 4, "z": 5, "B": 6, "a": 7})")),
            R"({"B":6,"a":7,"z":5,"é":4,"�":3,"𐀀":2,"😀":1})");
}

TEST(Render, EscapesOnlyWhatPythonEscapes) {
  std::string controls;
  for (char c = 0; c < 0x20; ++c) controls += c;
  std::string out;
  append_string(out, controls + "\"\\/\x7f\u2028<é😀");
  EXPECT_EQ(
      out,
      "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e\\u000f\\u0010"
      "\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u0"
      "01f"
      "\\\"\\\\/\x7f\u2028<é😀\"");
}

std::string written(double value) {
  std::string out;
  append_double(out, value);
  return out;
}

TEST(Write, DoublesAsPythonsRepr) {
  EXPECT_EQ(written(0.0), "0.0");
  EXPECT_EQ(written(-0.0), "-0.0");
  EXPECT_EQ(written(1.0), "1.0");
  EXPECT_EQ(written(-1.5), "-1.5");
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(0.0001), "0.0001");
  EXPECT_EQ(written(0.00001), "1e-05");
  EXPECT_EQ(written(1.25e-7), "1.25e-07");
  EXPECT_EQ(written(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(written(1e16), "1e+16");
  EXPECT_EQ(written(1.5e300), "1.5e+300");
  EXPECT_EQ(written(123456.789), "123456.789");
  EXPECT_EQ(written(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(written(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
}

TEST(Write, RefusesWhatJsonCannotSay) {
  EXPECT_THROW(written(std::nan("")), Error);
  EXPECT_THROW(written(std::numeric_limits<double>::infinity()), Error);
}

TEST(Write, Integers) {
  std::string out;
  append_integer(out, std::numeric_limits<int64_t>::min());
  append_integer(out, 42);
  EXPECT_EQ(out, "-922337203685477580842");
}

TEST(Render, RefusesAFloatBeyondADouble) {
  EXPECT_THROW(render(Value(Number{"1e999"})), Error);
  EXPECT_EQ(render(Value(Number{"1e-999"})), "0.0");
  EXPECT_EQ(render(Value(Number{"-1e-999"})), "-0.0");
}

}  // namespace
}  // namespace d3::json
