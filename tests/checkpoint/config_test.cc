#include "checkpoint/config.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/refusal.h"
#include "support/checkpoint_writer.h"
#include "support/json_build.h"
#include "test_paths.h"

namespace d3::checkpoint {
namespace {

using test::array;
using test::boolean;
using test::erase_path;
using test::number;
using test::number_text;
using test::set_path;
using test::string;
using ::testing::ElementsAre;

json::Value tiny_config() { return test::preset("tiny", test::data_path("tokenizer-small")).config; }

Config parse(const json::Value& config) {
  return parse_config(test::dump_json(config, 2), "dir/config.json");
}

/// A key of config.json set to a value that must be refused.
struct Bad {
  std::string key;
  json::Value value;
  std::vector<std::string> message;
};

void expect_all_refused(const std::vector<Bad>& table, ErrorCode code) {
  for (const Bad& bad : table) {
    SCOPED_TRACE(bad.key + " = " + test::dump_json(bad.value, 0));
    json::Value config = tiny_config();
    set_path(config, bad.key, bad.value);
    std::vector<std::string> message = {"dir/config.json: " + bad.key + " "};
    message.insert(message.end(), bad.message.begin(), bad.message.end());
    expect_refused({bad.key, message, code}, [&] { parse(config); });
  }
}

TEST(Config, LayerTypesFollowTheIntervalWhenAbsent) {
  json::Value config = tiny_config();
  erase_path(config, "text_config.layer_types");
  constexpr LayerType kLinear = LayerType::kLinearAttention, kFull = LayerType::kFullAttention;
  EXPECT_THAT(parse(config).text.layer_types,
              ElementsAre(kLinear, kLinear, kLinear, kFull, kLinear, kLinear, kLinear, kFull));
  set_path(config, "text_config.full_attention_interval", number(3));
  EXPECT_THAT(parse(config).text.layer_types,
              ElementsAre(kLinear, kLinear, kFull, kLinear, kLinear, kFull, kLinear, kLinear));
  erase_path(config, "text_config.full_attention_interval");
  EXPECT_EQ(parse(config).text.layer_types[3], kFull);
}

TEST(Config, RotaryParametersStandInEitherPlace) {
  json::Value config = tiny_config();
  set_path(config, "text_config.rope_parameters.rope_theta", number_text("5e6"));
  EXPECT_EQ(parse(config).text.rope_theta, 5e6);

  json::Value older = tiny_config();
  erase_path(older, "text_config.rope_parameters");
  expect_refused({"text_config.rope_theta", {"is missing"}}, [&] { parse(older); });
  set_path(older, "text_config.rope_theta", number(123456));
  set_path(older, "text_config.partial_rotary_factor", number_text("0.5"));
  set_path(older, "text_config.rope_scaling",
           test::object({{"type", string("default")},
                         {"mrope_section", array({number(24), number(20), number(20)})}}));
  const TextConfig text = parse(older).text;
  EXPECT_EQ(text.rope_theta, 123456);
  EXPECT_EQ(text.rotary_dim, 128);
  EXPECT_THAT(text.mrope_section, ElementsAre(24, 20, 20));

  erase_path(older, "text_config.rope_scaling");
  erase_path(older, "text_config.partial_rotary_factor");
  EXPECT_EQ(parse(older).text.rotary_dim, 64);

  // The inner value wins over the outer one.
  set_path(config, "text_config.rope_theta", number(7));
  EXPECT_EQ(parse(config).text.rope_theta, 5e6);
}

TEST(Config, OptionalKeysHaveDefaults) {
  json::Value config = tiny_config();
  for (const char* key :
       {"head_dim", "linear_key_head_dim", "linear_value_head_dim", "linear_conv_kernel_dim", "rms_norm_eps",
        "attention_bias", "hidden_act", "model_type"})
    erase_path(config, std::string("text_config.") + key);
  for (const char* key : {"patch_size", "spatial_merge_size", "temporal_patch_size", "in_channels",
                          "num_position_embeddings", "hidden_act", "deepstack_visual_indexes"})
    erase_path(config, std::string("vision_config.") + key);
  const Config parsed = parse(config);
  EXPECT_EQ(parsed.text.head_dim, 256);
  EXPECT_EQ(parsed.text.linear_conv_kernel_dim, 4);
  EXPECT_EQ(parsed.text.rms_norm_eps, 1e-6F);
  EXPECT_EQ(parsed.vision->patch_size, 16);
  EXPECT_EQ(parsed.vision->num_position_embeddings, 2304);
}

TEST(Config, TheTokensOfMediaAreNeededWithAVisionConfigAlone) {
  json::Value config = tiny_config();
  erase_path(config, "video_token_id");
  expect_refused({"video_token_id", {"dir/config.json: video_token_id is missing"}}, [&] { parse(config); });
  set_path(config, "vision_config", json::Value());
  EXPECT_FALSE(parse(config).vision.has_value());
  EXPECT_EQ(parse(config).video_token_id, -1);
  EXPECT_EQ(parse(config).image_token_id, 1909);
}

TEST(Config, RefusesMissingKeys) {
  for (const std::string key :
       {"model_type", "text_config", "text_config.hidden_size", "text_config.num_hidden_layers",
        "text_config.intermediate_size", "text_config.num_attention_heads", "text_config.num_key_value_heads",
        "text_config.linear_num_key_heads", "text_config.linear_num_value_heads", "text_config.vocab_size",
        "text_config.rope_parameters.rope_theta", "vision_config.hidden_size", "vision_config.depth",
        "vision_config.num_heads", "vision_config.intermediate_size", "vision_config.out_hidden_size",
        "image_token_id", "vision_start_token_id", "vision_end_token_id"}) {
    SCOPED_TRACE(key);
    json::Value config = tiny_config();
    erase_path(config, key);
    const auto refused = [&] { parse(config); };
    expect_refused({key, {"dir/config.json: " + key + " is missing"}}, refused);
  }
}

TEST(Config, RefusesValuesOutOfBounds) {
  const json::Value huge = number_text("99999999999999999999");
  expect_all_refused(
      {
          {"text_config", string("x"), {"is \"x\"; expected an object"}},
          {"text_config.hidden_size", number(0), {"is 0; expected an integer from 1 to "}},
          {"text_config.hidden_size", number(-128), {"is -128;"}},
          {"text_config.hidden_size", number_text("128.0"), {"is 128.0;"}},
          {"text_config.hidden_size", string("128"), {"is \"128\";"}},
          {"text_config.hidden_size", boolean(true), {"is true;"}},
          {"text_config.hidden_size", huge, {"is 99999999999999999999;"}},
          {"text_config.num_hidden_layers",
           number(1 << 20),
           {"is 1048576; expected an integer from 1 to 1024"}},
          {"text_config.intermediate_size", number(0), {"is 0;"}},
          {"text_config.vocab_size", number(254), {"is 254; expected an integer from 255 to "}},
          {"text_config.num_attention_heads", number(0), {"is 0;"}},
          {"text_config.num_key_value_heads", number(0), {"is 0;"}},
          {"text_config.linear_num_key_heads", number(0), {"is 0;"}},
          {"text_config.linear_num_value_heads", number(-1), {"is -1;"}},
          {"text_config.max_position_embeddings", number(0), {"is 0;"}},
          {"text_config.rms_norm_eps", number(0), {"is 0; expected a number between 0 and 1"}},
          {"text_config.rms_norm_eps", number_text("-1e-6"), {"is -1e-06;"}},
          {"text_config.rms_norm_eps", string("1e-6"), {"is \"1e-6\"; expected a number"}},
          {"text_config.layer_types", string("full"), {"expected an array"}},
          {"text_config.attention_bias", number(0), {"is 0; expected true or false"}},
          {"text_config.rope_parameters", array({}), {"is []; expected an object"}},
          {"text_config.rope_parameters.rope_theta", number(0), {"is 0;"}},
          {"text_config.rope_parameters.rope_theta", number_text("1e300"), {"is 1e+300;"}},
          {"text_config.rope_parameters.partial_rotary_factor",
           number(0),
           {"is 0; expected a number in (0, 1]"}},
          {"text_config.rope_parameters.partial_rotary_factor", number_text("1.5"), {"is 1.5;"}},
          {"text_config.rope_parameters.partial_rotary_factor",
           number_text("0.254"),
           {"is 0.254; expected an even share of head_dim, 256"}},
          {"text_config.rope_parameters.partial_rotary_factor",
           number_text("0.004"),
           {"is 0.004; expected an even share of head_dim, 256"}},
          {"text_config.rope_parameters.mrope_section",
           array({number(11), number(11), number(11)}),
           {"is [11, 11, 11]; expected three sizes whose sum is", "32"}},
          {"text_config.rope_parameters.mrope_section", array({number(16), number(16)}), {"is [16, 16];"}},
          {"vision_config", array({}), {"is []; expected an object"}},
          {"vision_config.depth", number(0), {"is 0;"}},
          {"vision_config.hidden_size", number(0), {"is 0;"}},
          {"vision_config.num_position_embeddings", number(2305), {"is 2305; expected a square"}},
          {"image_token_id", number(1984), {"is 1984; expected an integer from 0 to 1983"}},
          {"vision_end_token_id", number(-1), {"is -1;"}},
      },
      ErrorCode::kBadCheckpoint);
}

TEST(Config, RefusesSizesThatDoNotFitEachOther) {
  struct Misfit {
    std::string key;
    json::Value value;
    Refusal refusal;
  };
  const std::vector<Misfit> table = {
      {"text_config.num_key_value_heads",
       number(4),
       {"text_config.num_attention_heads", {"is 2; expected a multiple of num_key_value_heads, 4"}}},
      {"text_config.linear_num_value_heads",
       number(5),
       {"text_config.linear_num_value_heads", {"is 5; expected a multiple of linear_num_key_heads, 2"}}},
      {"text_config.num_hidden_layers",
       number(9),
       {"text_config.layer_types", {"has 8 items; expected num_hidden_layers, 9"}}},
      {"text_config.layer_types", array({}), {"text_config.layer_types", {"has 0 items"}}},
      {"text_config.layer_types",
       array({string("full_attention"), string("sliding_attention"), string("full_attention"), number(1),
              string("full_attention"), string("full_attention"), string("full_attention"),
              string("full_attention")}),
       {"text_config.layer_types[1]",
        {"is \"sliding_attention\"; expected \"linear_attention\" or \"full_attention\""}}},
      {"text_config.rope_parameters.mrope_section",
       array({number(11), string("11"), number(10)}),
       {"text_config.rope_parameters.mrope_section[1]", {"is \"11\"; expected an integer"}}},
      {"text_config.rope_parameters.partial_rotary_factor",
       number_text("0.5"),
       {"text_config.rope_parameters.mrope_section", {"is [11, 11, 10]", "64"}}},
      {"vision_config.num_heads",
       number(3),
       {"vision_config.hidden_size", {"is 128; expected a multiple of 4 * num_heads, 12"}}},
      {"vision_config.num_heads", number(64), {"vision_config.hidden_size", {"4 * num_heads, 256"}}},
      {"vision_config.out_hidden_size",
       number(64),
       {"vision_config.out_hidden_size", {"is 64; expected text_config.hidden_size, 128"}}},
  };
  for (const Misfit& misfit : table) {
    SCOPED_TRACE(misfit.key + " = " + test::dump_json(misfit.value, 0));
    json::Value config = tiny_config();
    set_path(config, "text_config.linear_num_key_heads", number(2));
    set_path(config, misfit.key, misfit.value);
    expect_refused(misfit.refusal, [&] { parse(config); });
  }
}

TEST(Config, SaysWhatIsUnsupported) {
  expect_all_refused(
      {
          {"model_type", string("qwen3"), {"is \"qwen3\", which is unsupported; supported: \"qwen3_5\""}},
          {"quantization_config",
           test::object({{"bits", number(4)}}),
           {"is {\"bits\": 4}, which is unsupported"}},
          {"text_config.model_type", string("qwen3_5_moe_text"), {"supported: \"qwen3_5_text\""}},
          {"text_config.head_dim", number(128), {"is 128, which is unsupported; supported: 256"}},
          {"text_config.linear_key_head_dim", number(64), {"supported: 128"}},
          {"text_config.linear_value_head_dim", number(256), {"supported: 128"}},
          {"text_config.linear_conv_kernel_dim", number(3), {"is 3, which is unsupported; supported: 4"}},
          {"text_config.hidden_act",
           string("gelu"),
           {"is \"gelu\", which is unsupported; supported: \"silu\""}},
          {"text_config.attention_bias", boolean(true), {"supported: false"}},
          {"text_config.rope_parameters.rope_type", string("yarn"), {"supported: \"default\""}},
          {"text_config.rope_parameters.mrope_interleaved", boolean(false), {"supported: true"}},
          {"vision_config.patch_size", number(14), {"is 14, which is unsupported; supported: 16"}},
          {"vision_config.temporal_patch_size", number(1), {"supported: 2"}},
          {"vision_config.spatial_merge_size", number(4), {"supported: 2"}},
          {"vision_config.in_channels", number(1), {"supported: 3"}},
          {"vision_config.hidden_act", string("silu"), {"supported: \"gelu_pytorch_tanh\""}},
          {"vision_config.deepstack_visual_indexes", array({number(5)}), {"is [5], which is unsupported"}},
      },
      ErrorCode::kUnsupported);
}

TEST(Config, RefusesTextThatIsNoObject) {
  for (const char* text :
       {"", "{", "[]", "null", "{} {}", "{\"a\": NaN}", "\xff", "{\"model_type\": \"\xff\"}"}) {
    SCOPED_TRACE(text);
    expect_refused({"dir/config.json", {"dir/config.json: "}},
                   [&] { parse_config(text, "dir/config.json"); });
  }
}

TEST(Config, CutsLongValuesAndEscapesThemInMessages) {
  json::Value config = tiny_config();
  std::string name;
  for (int i = 0; i < 5000; ++i) name += "\xe2\x82\xac\n";
  // dump_json writes no escapes, so the line breaks are put in as JSON has them.
  set_path(config, "model_type", string("@"));
  std::string text = test::dump_json(config, 2), escaped;
  for (const char c : name) escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  text.replace(text.find('@'), 1, escaped);
  try {
    parse_config(text, "dir/config.json");
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_LT(what.size(), 200U);
    EXPECT_EQ(what.find('\n'), std::string::npos);
    EXPECT_THAT(what, ::testing::HasSubstr("\xac\\n"));
    EXPECT_THAT(what, ::testing::HasSubstr("..., which is unsupported"));
  }
}

TEST(Config, ChecksThePreprocessors) {
  const json::Value good = test::object({{"patch_size", number(16)},
                                         {"temporal_patch_size", number(2)},
                                         {"merge_size", number(2)},
                                         {"resample", number(3)},
                                         {"image_mean", array({number_text("0.5"), number_text("5e-1")})},
                                         {"image_std", array({number_text("0.5")})}});
  const auto check = [](const json::Value& value) {
    check_preprocessor(test::dump_json(value, 1), "dir/preprocessor_config.json");
  };
  EXPECT_NO_THROW(check(good));
  const std::vector<Bad> table = {
      {"patch_size", number(14), {"is 14, which is unsupported; supported: 16"}},
      {"temporal_patch_size", number(1), {"supported: 2"}},
      {"merge_size", number(1), {"supported: 2"}},
      {"resample", number(2), {"supported: 3"}},
      {"image_mean", array({number_text("0.5"), number_text("0.48")}), {"supported: 0.5 for every channel"}},
      {"image_std", array({string("0.5")}), {"supported: 0.5 for every channel"}},
  };
  for (const Bad& bad : table) {
    json::Value changed = good;
    set_path(changed, bad.key, bad.value);
    std::vector<std::string> message = {"dir/preprocessor_config.json: " + bad.key};
    message.insert(message.end(), bad.message.begin(), bad.message.end());
    expect_refused({bad.key, message, ErrorCode::kUnsupported}, [&] { check(changed); });
  }
}

}  // namespace
}  // namespace d3::checkpoint
