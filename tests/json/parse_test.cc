#include "json/parse.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "json/number.h"
#include "json/render.h"

namespace d3::json {
namespace {

using ::testing::HasSubstr;

std::string message_of(std::string_view text, int max_depth = 256) {
  try {
    parse(text, max_depth);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << text;
    EXPECT_EQ(error.field(), "") << text;
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(Parse, KeepsOrderAndNumberText) {
  const Value value = parse(R"( {"z": 1.50, "a": [-0, 1E+2, 123456789012345678901234567890], "m": null} )");
  const Object& object = value.as_object();
  ASSERT_EQ(object.size(), 3U);
  EXPECT_EQ(object[0].key, "z");
  EXPECT_EQ(object[0].value.as_number().text, "1.50");
  EXPECT_EQ(object[1].key, "a");
  EXPECT_EQ(object[1].value.as_array()[0].as_number().text, "-0");
  EXPECT_EQ(object[1].value.as_array()[1].as_number().text, "1E+2");
  EXPECT_EQ(object[1].value.as_array()[2].as_number().text, "123456789012345678901234567890");
  EXPECT_TRUE(object[2].value.is_null());
  EXPECT_EQ(value.find("nothing"), nullptr);
}

TEST(Parse, ReadsEveryKindAtTheTop) {
  EXPECT_TRUE(parse("null").is_null());
  EXPECT_TRUE(parse(" true\n").as_bool());
  EXPECT_FALSE(parse("\tfalse").as_bool());
  EXPECT_EQ(parse("-12.5e3 ").as_number().text, "-12.5e3");
  EXPECT_EQ(parse(R"("a\u00e9\ud83d\ude00\n\/")").as_string(), "aé😀\n/");
  EXPECT_TRUE(parse("[]").as_array().empty());
  EXPECT_TRUE(parse("{}").as_object().empty());
  EXPECT_EQ(parse(std::string("\"a\\u0000b\"")).as_string(), std::string("a\0b", 3));
}

TEST(Parse, RepeatedKeysKeepTheFirstPlaceAndTheLastValue) {
  EXPECT_EQ(render(parse(R"({"a":1,"b":2,"a":3,"c":4,"b":5,"a":6})")), R"({"a": 6, "b": 5, "c": 4})");
  EXPECT_EQ(render(parse(R"({"\u0061":1,"a":2})")), R"({"a": 2})");
  // More members than are compared one by one.
  std::string text = "{";
  std::string expected = "{";
  for (int round = 0; round < 3; ++round)
    for (int key = 0; key < 20; ++key)
      text += "\"k" + std::to_string(key) + "\":" + std::to_string(100 * round + key) + ",";
  text.back() = '}';
  for (int key = 0; key < 20; ++key)
    expected += "\"k" + std::to_string(key) + "\": " + std::to_string(200 + key) + ", ";
  expected.replace(expected.size() - 2, 2, "}");
  EXPECT_EQ(render(parse(text)), expected);
}

// With a quadratic cost either would take minutes, beyond the test's time limit.
TEST(Parse, ManyKeysAndManyRepeatsStayLinear) {
  constexpr int kKeys = 400'000;
  std::string different = "{";
  std::string same = "{";
  for (int key = 0; key < kKeys; ++key) {
    different += "\"key " + std::to_string(key) + "\":0,";
    same += "\"key\":" + std::to_string(key) + ",";
  }
  different.back() = '}';
  same.back() = '}';
  EXPECT_EQ(parse(different).as_object().size(), static_cast<size_t>(kKeys));
  const Value value = parse(same);
  ASSERT_EQ(value.as_object().size(), 1U);
  EXPECT_EQ(value.as_object()[0].value.as_number().text, std::to_string(kKeys - 1));
}

TEST(Parse, RefusesWhatIsNotRfc8259) {
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "nul",
                                          "nulll",
                                          "True",
                                          "NaN",
                                          "Infinity",
                                          "-Infinity",
                                          "-",
                                          "+1",
                                          "01",
                                          "-01",
                                          "1.",
                                          ".5",
                                          "1e",
                                          "1e+",
                                          "0x10",
                                          "1 2",
                                          "1,",
                                          "1]",
                                          "'a'",
                                          "\"a",
                                          "\"a\" \"b\"",
                                          "\"a\"b",
                                          "\"\\x\"",
                                          "\"\\u12g4\"",
                                          "\"\\u123\"",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          "[1",
                                          "[1,",
                                          "[1,]",
                                          "[,1]",
                                          "[1,,2]",
                                          "[1 2]",
                                          "[1}",
                                          "{\"a\":1]",
                                          "{\"a\"}",
                                          "{\"a\":}",
                                          "{\"a\":1,}",
                                          "{,}",
                                          "{a:1}",
                                          "{1:2}",
                                          "{\"a\" 1}",
                                          "{\"a\":1 \"b\":2}",
                                          "{\"a\":1}}",
                                          "[1]]",
                                          "[1] [2]",
                                          "{\"a\":1} x",
                                          "[[1]",
                                          "[1]//c",
                                          "/*c*/[1]",
                                          "[\"a\"x]",
                                          "[1x]",
                                          "[truefalse]",
                                          "[nul]",
                                          "[tru]",
                                          "\xef\xbb\xbf[1]",
                                          "[1\f]",
                                          "[\v1]",
                                          "[1\xc2\xa0]",
                                          std::string("[1\0]", 4),
                                          std::string("\0", 1),
                                          std::string("1\0", 2),
                                          "{\"a\":1,\"b\"",
                                          "\"a\nb\"",
                                          "[\"a\tb\"]",
                                          "{\"a\x01\":1}",
                                          std::string("\"a\0b\"", 5),
                                          "[[[1]]",
                                          "{\"a\":{\"b\":1}",
                                          "[{]}",
                                          "[}"};
  for (const std::string& text : texts) EXPECT_THAT(message_of(text), HasSubstr("invalid JSON")) << text;
}

TEST(Parse, RefusesBrokenUtf8AndHalfSurrogates) {
  for (const char* text :
       {"\"\xff\"", "\"\xc3\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "[\"a\x80\"]"})
    EXPECT_THAT(message_of(text), HasSubstr("not valid UTF-8")) << text;
  for (const char* text :
       {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\udc00\ud800")", R"("\ud800x")",
        R"("\ud800\n")", R"("\ud800\u0041")", R"("x\udfff")", R"(["\udbff"])", R"({"\udead":1})",
        R"({"a":"\ud83d"})", R"("\ud83d\ude00\ude00")"})
    EXPECT_THAT(message_of(text), HasSubstr("surrogate")) << text;
}

TEST(Parse, RefusesNumbersBeyondADouble) {
  EXPECT_THAT(message_of("1e999"), HasSubstr("beyond the range of a double"));
  EXPECT_THAT(message_of("[0, -1.8e308]"), HasSubstr("at byte 4"));
  EXPECT_THAT(message_of(std::string(400, '9') + ".5"), HasSubstr("beyond"));
  EXPECT_EQ(parse("1e-999").as_number().text, "1e-999");
  EXPECT_EQ(parse("0e999").as_number().text, "0e999");
  EXPECT_EQ(parse(std::string(400, '9')).as_number().text.size(), 400U);
}

TEST(Parse, LimitsDepthOfArraysAndObjects) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(parse(nested(256)));
  EXPECT_THAT(message_of(nested(257)),
              HasSubstr("invalid JSON at byte 256: arrays and objects nest deeper than 256"));
  EXPECT_THAT(message_of(std::string(1'000'000, '[')), HasSubstr("invalid JSON"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(message_of(objects + "1" + std::string(100'000, '}')), HasSubstr("nest deeper"));
  EXPECT_NO_THROW(parse("1", 0));
  EXPECT_NO_THROW(parse("[1]", 1));
  EXPECT_THAT(message_of("[{}]", 1), HasSubstr("nest deeper than 1"));
}

TEST(Parse, LimitsTheNumberOfValues) {
  std::string text = "[0";
  for (size_t i = 2; i < kMaxValues; ++i) text += ",0";
  EXPECT_EQ(parse(text + "]").as_array().size(), kMaxValues - 1);
  EXPECT_THAT(message_of(text + ",0]"),
              HasSubstr("invalid JSON at byte 3999999: there are over 2000000 values"));
}

TEST(Parse, SaysWhere) {
  EXPECT_THAT(message_of("[1, 2, oops]"),
              HasSubstr("invalid JSON at byte 7: a value is missing or misspelt"));
  EXPECT_THAT(message_of("[1, 2 3]"), HasSubstr("at byte 6"));
  EXPECT_THAT(message_of("{\"a\": \"x\ny\"}"), HasSubstr("invalid JSON at byte 8: a control character"));
  EXPECT_THAT(message_of("{\"a\": \"x"), HasSubstr("invalid JSON at byte 6: a string is not closed"));
  EXPECT_THAT(message_of("[1, \"\\q\"]"), HasSubstr("at byte 4"));
  EXPECT_EQ(message_of(""), "invalid JSON: the text is empty");
  EXPECT_THAT(message_of("[1] [2]"), HasSubstr("invalid JSON at byte 4: something follows the value"));
}

TEST(Parse, LeavesTheGivenBytesAlone) {
  const std::string text = "[\"\\u0041\", 1]xxxxxxxx";
  const std::string_view part(text.data(), text.size() - 8);
  EXPECT_EQ(render(parse(part)), "[\"A\", 1]");
  EXPECT_EQ(text, "[\"\\u0041\", 1]xxxxxxxx");
}

TEST(Number, TellsIntegersAndValues) {
  EXPECT_TRUE(is_integer({"-0"}));
  EXPECT_FALSE(is_integer({"1.0"}));
  EXPECT_FALSE(is_integer({"1e2"}));
  EXPECT_EQ(to_int64({"-9223372036854775808"}), INT64_MIN);
  EXPECT_EQ(to_int64({"9223372036854775808"}), std::nullopt);
  EXPECT_EQ(to_int64({"1.0"}), std::nullopt);
  EXPECT_EQ(to_double({"123456789012345678901234567890"}), 123456789012345678901234567890.0);
  EXPECT_EQ(to_double({"1.7976931348623157e308"}), 1.7976931348623157e308);
  EXPECT_EQ(to_double({"1.7976931348623159e308"}), std::nullopt);
  EXPECT_EQ(to_double({std::string(310, '1')}), std::nullopt);
  EXPECT_EQ(to_double({"0." + std::string(400, '0') + "1e401"}), 1.0);
  EXPECT_EQ(to_double({"1e99999999999999999999999999"}), std::nullopt);
  EXPECT_EQ(to_double({"1e-99999999999999999999999999"}), 0.0);
}

TEST(Number, ZeroAsPythonSeesIt) {
  for (const char* zero :
       {"0", "-0", "0.0", "-0.00", "0e5", "0E-5", "0.0e99999", "1e-400", "-3e-99999999999999999999"})
    EXPECT_TRUE(is_zero({zero})) << zero;
  for (const char* other : {"1", "-1", "10", "0.1", "5e-324", "0.01e-5", "100000000000000000000000"})
    EXPECT_FALSE(is_zero({other})) << other;
}

}  // namespace
}  // namespace d3::json
