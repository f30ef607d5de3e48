#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/config.h"
#include "checkpoint/refusal.h"
#include "support/checkpoint_writer.h"
#include "support/json_build.h"
#include "test_paths.h"

namespace d3::checkpoint {
namespace {

using test::array;
using test::at_path;
using test::erase_path;
using test::number;
using test::number_text;
using test::set_path;
using test::string;

constexpr const char* kFile = "dir/decision_config.json";

json::Value good_decision() {
  return test::preset("tiny", test::data_path("tokenizer-small")).decision_config;
}

DecisionConfig parse(const json::Value& config) {
  return parse_decision_config(test::dump_json(config, 1), kFile);
}

TEST(DecisionConfig, OptionalKeysHaveDefaults) {
  json::Value config = good_decision();
  for (const char* key : {"attention_mode", "temperature", "readout_dtype", "max_length"})
    erase_path(config, key);
  const DecisionConfig decision = parse(config);
  EXPECT_EQ(decision.attention_mode, AttentionMode::kCausal);
  EXPECT_EQ(decision.readout_dtype, ReadoutDtype::kFloat32);
  EXPECT_EQ(decision.temperature, 1.0);
  EXPECT_FALSE(decision.max_length.has_value());
  set_path(config, "max_length", json::Value());
  EXPECT_FALSE(parse(config).max_length.has_value());
  set_path(config, "max_length", number(16));
  EXPECT_EQ(parse(config).max_length, 16);
  set_path(config, "temperature", number(2));
  EXPECT_EQ(parse(config).temperature, 2.0);
}

TEST(DecisionConfig, RefusesMissingKeys) {
  for (const std::string key : {"format_version", "format_id", "prompt", "pooling", "codes", "token_ids"}) {
    json::Value config = good_decision();
    erase_path(config, key);
    expect_refused({key, {"dir/decision_config.json: " + key + " is missing"}}, [&] { parse(config); });
  }
}

TEST(DecisionConfig, RefusesValuesOutsideTheFormat) {
  struct Bad {
    std::string key;
    json::Value value;
    std::string message;
  };
  const std::vector<Bad> table = {
      {"format_version", number(2), "is 2; expected an integer from 1 to 1"},
      {"format_version", string("1"), "is \"1\";"},
      {"format_id", string("d3-code-readout-v2"),
       "is \"d3-code-readout-v2\"; expected \"d3-code-readout-v1\""},
      {"prompt", string("d2"), "is \"d2\"; expected \"d3\""},
      {"pooling", string("mean"), "is \"mean\"; expected \"last\""},
      {"attention_mode", string("bidirectional"),
       "is \"bidirectional\"; expected \"causal\" or \"noncausal_full_attention\""},
      {"attention_mode", number(1), "is 1; expected a string"},
      {"readout_dtype", string("float16"), "is \"float16\"; expected \"float32\" or \"bfloat16\""},
      {"temperature", number(0), "is 0; expected a finite number greater than 0"},
      {"temperature", number_text("0.0"), "is 0.0; expected a finite number greater than 0"},
      {"temperature", number(-1), "is -1;"},
      {"temperature", number_text("1e-320"), "greater than 0"},
      {"temperature", number_text("1e39"), "is 1e+39;"},
      {"temperature", string("1"), "is \"1\"; expected a number"},
      {"max_length", number(15), "is 15; expected an integer from 16 to"},
      {"max_length", number(-1), "is -1;"},
      {"max_length", number_text("512.0"), "is 512.0;"},
      {"max_length", number_text("4294967296"), "is 4294967296;"},
      {"codes", string("A"), "is \"A\"; expected an array"},
      {"codes", array({string("A")}), "has 1 items; expected 255"},
      {"token_ids", array({number(1), number(2)}), "has 2 items; expected 255"},
      {"token_ids", test::object({}), "is {}; expected an array"},
  };
  for (const Bad& bad : table) {
    SCOPED_TRACE(bad.key + " = " + test::dump_json(bad.value, 0));
    json::Value config = good_decision();
    set_path(config, bad.key, bad.value);
    expect_refused({bad.key, {std::string(kFile) + ": " + bad.key + " ", bad.message}},
                   [&] { parse(config); });
  }
}

TEST(DecisionConfig, RefusesNumbersBeyondADouble) {
  json::Value config = good_decision();
  set_path(config, "temperature", number_text("1e400"));
  expect_refused({kFile, {std::string(kFile) + ": "}}, [&] { parse(config); });
}

TEST(DecisionConfig, RefusesItemsOfCodesAndTokenIds) {
  const auto refuse = [](const std::string& list, size_t index, json::Value item,
                         const std::string& message) {
    json::Value config = good_decision();
    at_path(config, list).as_array().at(index) = std::move(item);
    const std::string field = list + "[" + std::to_string(index) + "]";
    expect_refused({field, {std::string(kFile) + ": " + field + " " + message}}, [&] { parse(config); });
  };
  refuse("codes", 7, number(7), "is 7; expected a non-empty string");
  refuse("codes", 7, string(""), "is \"\"; expected a non-empty string");
  refuse("codes", 9, string("A"), "repeats codes[0]");
  refuse("token_ids", 3, string("65"), "is \"65\"; expected an integer");
  refuse("token_ids", 3, number(-1), "is -1; expected an integer from 0");
  refuse("token_ids", 3, number_text("33554432"), "is 33554432; expected an integer from 0");
  json::Value good = good_decision();
  refuse("token_ids", 254, at_path(good, "token_ids").as_array()[1], "repeats token_ids[1]");
}

}  // namespace
}  // namespace d3::checkpoint
