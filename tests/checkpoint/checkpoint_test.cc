#include "checkpoint/checkpoint.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/checkpoint_writer.h"
#include "support/json_build.h"
#include "support/noise.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::checkpoint {
namespace {

using test::CheckpointSpec;
using ::testing::ElementsAre;

std::filesystem::path tokenizer() { return test::data_path("tokenizer-small"); }

Checkpoint write_and_open(const CheckpointSpec& spec, const test::TemporaryDirectory& directory) {
  test::write_checkpoint(spec, tokenizer(), directory.path());
  return Checkpoint::open(directory.path());
}

std::string bytes_of(const TensorView& tensor) {
  return {reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size()};
}

TEST(Checkpoint, OpensTheIrregularPreset) {
  const test::TemporaryDirectory directory;
  const Checkpoint checkpoint = write_and_open(test::preset("tiny-irregular", tokenizer()), directory);
  EXPECT_EQ(checkpoint.directory(), directory.path());
  EXPECT_EQ(checkpoint.model_name(), "d3-tiny-irregular");
  EXPECT_EQ(checkpoint.repo_id(), "vllm-sr/d3-tiny-irregular");
  EXPECT_TRUE(checkpoint.has_vision());

  const TextConfig& text = checkpoint.config().text;
  EXPECT_EQ(text.hidden_size, 192);
  EXPECT_EQ(text.num_hidden_layers, 6);
  EXPECT_EQ(text.intermediate_size, 320);
  EXPECT_EQ(text.num_attention_heads, 2);
  EXPECT_EQ(text.num_key_value_heads, 2);
  EXPECT_EQ(text.linear_num_key_heads, 2);
  EXPECT_EQ(text.linear_num_value_heads, 2);
  EXPECT_EQ(text.vocab_size, 1984);
  EXPECT_EQ(text.rms_norm_eps, 1e-6F);
  EXPECT_EQ(text.max_position_embeddings, 262144);
  EXPECT_EQ(text.rope_theta, 1e7);
  EXPECT_EQ(text.rotary_dim, 64);
  EXPECT_THAT(text.mrope_section, ElementsAre(11, 11, 10));
  constexpr LayerType kLinear = LayerType::kLinearAttention, kFull = LayerType::kFullAttention;
  EXPECT_THAT(text.layer_types, ElementsAre(kLinear, kFull, kLinear, kLinear, kFull, kLinear));
  ASSERT_TRUE(checkpoint.config().vision.has_value());
  EXPECT_EQ(checkpoint.config().vision->hidden_size, 144);
  EXPECT_EQ(checkpoint.config().vision->depth, 3);
  EXPECT_EQ(checkpoint.config().vision->out_hidden_size, 192);
  EXPECT_EQ(checkpoint.config().image_token_id, 1909);
  EXPECT_EQ(checkpoint.config().video_token_id, 1910);
  EXPECT_EQ(checkpoint.config().vision_start_token_id, 1906);
  EXPECT_EQ(checkpoint.config().vision_end_token_id, 1907);

  const DecisionConfig& decision = checkpoint.decision();
  EXPECT_EQ(decision.attention_mode, AttentionMode::kNoncausalFullAttention);
  EXPECT_EQ(decision.readout_dtype, ReadoutDtype::kFloat32);
  EXPECT_EQ(decision.temperature, 1.7);
  EXPECT_EQ(decision.max_length, 32768);
  EXPECT_EQ(decision.codes.size(), 255U);
  EXPECT_EQ(decision.codes[26], "AA");
  EXPECT_EQ(decision.token_ids.size(), 255U);
}

TEST(Checkpoint, OpensShardsAndPrefixedNames) {
  const test::TemporaryDirectory directory;
  const Checkpoint checkpoint = write_and_open(test::preset("tiny-causal", tokenizer()), directory);
  EXPECT_TRUE(std::filesystem::exists(directory.path() / "model-00002-of-00002.safetensors"));
  EXPECT_EQ(checkpoint.decision().attention_mode, AttentionMode::kCausal);
  EXPECT_EQ(checkpoint.decision().readout_dtype, ReadoutDtype::kBfloat16);
  EXPECT_EQ(checkpoint.decision().max_length, 512);
  // The first tensor is in the first shard, the last in the second.
  EXPECT_EQ(checkpoint.tensor("language_model.embed_tokens.weight").name,
            "language_model.embed_tokens.weight");
  EXPECT_THAT(checkpoint.tensor("visual.merger.linear_fc2.bias").shape, ElementsAre(128));
}

TEST(Checkpoint, ViewsHoldTheFilesBytes) {
  const test::TemporaryDirectory directory;
  CheckpointSpec spec = test::preset("micro", tokenizer());
  spec.tensor("language_model.layers.0.linear_attn.A_log").dtype = "F32";
  spec.tensor("language_model.norm.weight").dtype = "F16";
  const Checkpoint checkpoint = write_and_open(spec, directory);

  const TensorView& conv = checkpoint.tensor("language_model.layers.0.linear_attn.conv1d.weight");
  EXPECT_EQ(conv.dtype, Dtype::kBfloat16);
  EXPECT_THAT(conv.shape, ElementsAre(384, 1, 4));
  const std::vector<float> values = test::noise(conv.name, size_t{384} * 4, 0.5F, 0.0F);
  ASSERT_EQ(conv.data.size(), values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, conv.data.data() + 2 * i, 2);
    ASSERT_EQ(bits, test::to_bfloat16(values[i])) << i;
  }

  const TensorView& a_log = checkpoint.tensor("language_model.layers.0.linear_attn.A_log");
  EXPECT_EQ(a_log.dtype, Dtype::kFloat32);
  ASSERT_EQ(a_log.data.size(), 4U);
  float value = 0;
  std::memcpy(&value, a_log.data.data(), 4);
  EXPECT_EQ(value, test::noise(a_log.name, 1, 0.8F, 0.5F)[0]);

  const TensorView& norm = checkpoint.tensor("language_model.norm.weight");
  EXPECT_EQ(norm.dtype, Dtype::kFloat16);
  uint16_t bits = 0;
  std::memcpy(&bits, norm.data.data(), 2);
  EXPECT_EQ(bits, test::to_float16(test::noise(norm.name, 1, 0.2F, 0.0F)[0]));

  EXPECT_EQ(checkpoint.readout().dtype, Dtype::kFloat32);
  EXPECT_THAT(checkpoint.readout().shape, ElementsAre(255, 32));
  EXPECT_EQ(checkpoint.readout().data.size(), 255U * 32 * 4);
}

TEST(Checkpoint, TensorsAreFoundByNameAlone) {
  const test::TemporaryDirectory directory;
  const Checkpoint checkpoint = write_and_open(test::preset("micro", tokenizer()), directory);
  EXPECT_NO_THROW(checkpoint.tensor("language_model.layers.1.self_attn.q_proj.weight"));
  try {
    checkpoint.tensor("language_model.layers.0.self_attn.q_proj.weight");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadCheckpoint);
    EXPECT_EQ(error.field(), "language_model.layers.0.self_attn.q_proj.weight");
  }
}

TEST(Checkpoint, SurvivesAMoveAndReleasedPages) {
  const test::TemporaryDirectory directory;
  Checkpoint first = write_and_open(test::preset("micro", tokenizer()), directory);
  const TensorView& embeddings = first.tensor("language_model.embed_tokens.weight");
  const std::string before = bytes_of(embeddings);
  const Checkpoint second = std::move(first);
  second.release_pages(embeddings);
  EXPECT_EQ(bytes_of(second.tensor("language_model.embed_tokens.weight")), before);
  second.release_pages(second.tensor("language_model.layers.0.linear_attn.A_log"));
}

TEST(Checkpoint, TheVisionTowerMayBeMissing) {
  CheckpointSpec spec = test::preset("micro", tokenizer());
  std::erase_if(spec.tensors,
                [](const test::TensorSpec& tensor) { return tensor.name.starts_with("visual."); });
  {
    const test::TemporaryDirectory directory;
    const Checkpoint checkpoint = write_and_open(spec, directory);
    EXPECT_FALSE(checkpoint.has_vision());
    EXPECT_THROW(checkpoint.tensor("visual.pos_embed.weight"), Error);
  }
  test::erase_path(spec.config, "vision_config");
  test::erase_path(spec.config, "image_token_id");
  const test::TemporaryDirectory directory;
  test::write_checkpoint(spec, tokenizer(), directory.path());
  for (const char* name :
       {"preprocessor_config.json", "video_preprocessor_config.json", "MODEL_MANIFEST.json"})
    std::filesystem::remove(directory.path() / name);
  const Checkpoint checkpoint = Checkpoint::open(directory.path());
  EXPECT_FALSE(checkpoint.has_vision());
  EXPECT_FALSE(checkpoint.config().vision.has_value());
  EXPECT_EQ(checkpoint.config().image_token_id, -1);
}

TEST(Checkpoint, MtpTensorsArePassedOver) {
  for (const std::string prefix : {"", "model."}) {
    CheckpointSpec spec = test::preset("micro", tokenizer());
    spec.prefix = prefix;
    // Written with the prefix of the other names; "mtp." alone stands beside prefixed names in published
    // files.
    spec.tensors.push_back({"mtp.norm.weight", "BF16", {7}, 1, 0, "a"});
    const test::TemporaryDirectory directory;
    const Checkpoint checkpoint = write_and_open(spec, directory);
    EXPECT_THROW(checkpoint.tensor("mtp.norm.weight"), Error);
  }
  CheckpointSpec spec = test::preset("micro", tokenizer());
  for (test::TensorSpec& tensor : spec.tensors) tensor.name = "model." + tensor.name;
  spec.tensors.insert(spec.tensors.begin(), {"mtp.fc.weight", "F32", {2, 3}, 1, 0, "a"});
  const test::TemporaryDirectory directory;
  EXPECT_NO_THROW(write_and_open(spec, directory));
}

TEST(Checkpoint, NeedsNoManifest) {
  CheckpointSpec spec = test::preset("micro", tokenizer());
  spec.manifest = false;
  const test::TemporaryDirectory directory;
  const Checkpoint checkpoint = write_and_open(spec, directory);
  EXPECT_EQ(checkpoint.model_name(), "");
  EXPECT_EQ(checkpoint.repo_id(), "");
}

TEST(Checkpoint, OpensTheGoldenCheckpoints) {
  const std::filesystem::path golden = test::shared_path("fixtures/checkpoints");
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "no " << golden;
  for (const char* name : {"tiny", "tiny-irregular", "tiny-causal"})
    EXPECT_TRUE(Checkpoint::open(golden / name, Verify::kFull).has_vision()) << name;
}

}  // namespace
}  // namespace d3::checkpoint
