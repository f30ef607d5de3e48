// Every layer's hidden states in float32 against the reference's, where the large golden data is there.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "cpu/text_model.h"
#include "support/checkpoint_writer.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::cpu {
namespace {

/// The tensors of a safetensors file as values of T.
template <typename T>
std::vector<T> read_tensor(const std::string& file, const std::filesystem::path& path,
                           const std::string& name) {
  for (const auto& entry : checkpoint::read_safetensors_header(std::as_bytes(std::span(file)), path)) {
    if (entry.name != name) continue;
    std::vector<T> values((entry.end - entry.begin) / sizeof(T));
    std::memcpy(values.data(), file.data() + entry.begin, entry.end - entry.begin);
    return values;
  }
  throw std::runtime_error(path.string() + " has no " + name);
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
  std::set<std::string> seen;
  model.observe([&](const std::string& layer, std::span<const float> hidden) {
    const auto expected = read_tensor<float>(file, path, layer);
    ASSERT_EQ(hidden.size(), expected.size()) << layer;
    float scale = 0.0F;
    float worst = 0.0F;
    for (size_t i = 0; i < hidden.size(); ++i) {
      scale = std::max(scale, std::abs(expected[i]));
      worst = std::max(worst, std::abs(expected[i] - hidden[i]));
    }
    EXPECT_LE(worst, 1e-3F * scale) << layer;
    seen.insert(layer);
    RecordProperty(layer, std::to_string(worst / scale));
  });
  const auto ids = read_tensor<int32_t>(file, path, "input_ids");
  std::vector<float> logits(model::kAnswerCodes);
  model.run({{{{}, {ids}}}}, {.share_prefixes = true, .cut_last_layer = false}, logits.data());
  EXPECT_EQ(seen.size(), checkpoint.config().text.layer_types.size() + 1);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, LayersTest, ::testing::Values("tiny", "tiny-irregular", "tiny-causal"),
                         [](const auto& info) { return test::preset_test_name(info.param); });

}  // namespace
}  // namespace d3::cpu
