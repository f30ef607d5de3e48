// Every layer's hidden states in float32 against the reference's, where the large golden data is there.
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/golden_layers.h"
#include "cpu/text_model.h"
#include "support/checkpoint_writer.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::cpu {
namespace {

using test::LayerComparison;
using test::read_tensor;

/// The runs of a pad token, cut into blocks of rows x columns, with the reference's features.
std::vector<model::MediaBlock> media_blocks(std::span<const int32_t> ids, int32_t pad, int rows, int columns,
                                            std::span<const float> features, int hidden_size) {
  std::vector<model::MediaBlock> blocks;
  const float* next = features.data();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != pad) continue;
    blocks.push_back({.first = static_cast<int64_t>(i), .rows = rows, .columns = columns, .features = next});
    next += blocks.back().tokens() * hidden_size;
    i = static_cast<size_t>(blocks.back().end()) - 1;
  }
  return blocks;
}

class LayersTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LayersTest, HiddenStatesEqualTheReferences) {
  const std::string name = GetParam();
  const auto path = test::shared_path("fixtures/cases/layers-" + name + "-text-0.safetensors");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the large golden data is not here";
  const std::string file = test::read_file(path);
  const test::TemporaryDirectory directory;
  const auto tokenizer = test::data_path("tokenizer-small");
  test::write_checkpoint(test::preset(name, tokenizer), tokenizer, directory.path());
  const auto checkpoint = checkpoint::Checkpoint::open(directory.path());

  use_one_thread_for_products();
  Machine machine(select_kernel_table(""), 2);
  TextModel<float> model(machine, checkpoint, ProductType::kFloat32, {});
  LayerComparison comparison(file, path);
  model.observe(std::ref(comparison));
  const auto ids = read_tensor<int32_t>(file, path, "input_ids");
  std::vector<float> logits(model::kAnswerCodes);
  model.run({{{{}, {ids}}}}, {.share_prefixes = true, .cut_last_layer = false}, logits.data());
  EXPECT_EQ(comparison.seen(), checkpoint.config().text.layer_types.size() + 1);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, LayersTest, ::testing::Values("tiny", "tiny-irregular", "tiny-causal"),
                         [](const auto& info) { return test::preset_test_name(info.param); });

struct MediaCase {
  const char* name;
  bool is_video;
};

class MediaLayersTest : public ::testing::TestWithParam<MediaCase> {};

TEST_P(MediaLayersTest, HiddenStatesEqualTheReferences) {
  const auto path =
      test::shared_path(std::string("fixtures/cases/layers-tiny-") + GetParam().name + ".safetensors");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the large golden data is not here";
  const std::string file = test::read_file(path);
  const test::TemporaryDirectory directory;
  const auto tokenizer = test::data_path("tokenizer-small");
  test::write_checkpoint(test::preset("tiny", tokenizer), tokenizer, directory.path());
  const auto checkpoint = checkpoint::Checkpoint::open(directory.path());
  const checkpoint::Config& config = checkpoint.config();
  const bool is_video = GetParam().is_video;

  const auto ids = read_tensor<int32_t>(file, path, "input_ids");
  const auto features = read_tensor<float>(file, path, "visual.merger");
  const auto grid = read_tensor<int64_t>(file, path, is_video ? "video_grid_thw" : "image_grid_thw");
  const auto blocks = media_blocks(ids, is_video ? config.video_token_id : config.image_token_id,
                                   static_cast<int>(grid[1] / 2), static_cast<int>(grid[2] / 2), features,
                                   config.text.hidden_size);
  ASSERT_EQ(static_cast<int64_t>(blocks.size()), grid[0]);
  // The prefix ends anywhere after the media; here the last token alone is the tail.
  const auto prefix = std::span(ids).first(ids.size() - 1);
  const model::QuestionGroup group{.prefix = prefix, .tails = {std::span(ids).last(1)}, .media = blocks};

  const auto places = read_tensor<int32_t>(file, path, "mrope_position_ids");
  const auto positions = model::prefix_positions(group);
  for (size_t i = 0; i < prefix.size(); ++i)
    EXPECT_EQ(positions.tokens[i],
              (model::Position{places[i], places[ids.size() + i], places[2 * ids.size() + i]}))
        << "token " << i;
  EXPECT_EQ(positions.next, places[ids.size() - 1]);

  use_one_thread_for_products();
  Machine machine(select_kernel_table(""), 2);
  TextModel<float> model(machine, checkpoint, ProductType::kFloat32, {});
  LayerComparison comparison(file, path);
  model.observe(std::ref(comparison));
  std::vector<float> logits(model::kAnswerCodes);
  model.run({{group}}, {.share_prefixes = true, .cut_last_layer = false}, logits.data());
  EXPECT_EQ(comparison.seen(), config.text.layer_types.size() + 1);
}

INSTANTIATE_TEST_SUITE_P(Cases, MediaLayersTest,
                         ::testing::Values(MediaCase{"png-gray", false}, MediaCase{"mp4-mpeg4-short", true}),
                         [](const auto& info) { return info.param.is_video ? "video" : "image"; });

}  // namespace
}  // namespace d3::cpu
