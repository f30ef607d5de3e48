// The figures of `d3 bench` are counts and sums that hold whatever the machine's speed is.
#include "speed/forward_speed.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "checkpoint/expected_tensors.h"
#include "speed/report.h"
#include "support/micro_checkpoint.h"

namespace d3::speed {
namespace {

class ForwardSpeedTest : public test::MicroCheckpointTest {
 protected:
  const checkpoint::Checkpoint checkpoint_ =
      checkpoint::Checkpoint::open(std::filesystem::path(checkpoint()), checkpoint::Verify::kNone);
  const checkpoint::TextConfig& config_ = checkpoint_.config().text;
};

/// Values of the layers' two-dimensional weights, those that are multiplied with.
double multiplied_weights(const checkpoint::TextConfig& config) {
  double count = 0;
  for (const checkpoint::ExpectedTensor& tensor : expected_text_tensors(config))
    if (tensor.shape.size() == 2 && tensor.name.find("layers.") != std::string::npos)
      count += static_cast<double>(tensor.shape[0] * tensor.shape[1]);
  return count;
}

TEST_F(ForwardSpeedTest, CountsEveryWeightOnceATokenButForTheLastLayersCut) {
  // One token: nothing is cut. Its attention reads one key in each full layer.
  const Work one = work_of(config_, false, 1);
  EXPECT_DOUBLE_EQ(one.products, 2 * multiplied_weights(config_));
  const auto full_layers = std::ranges::count(config_.layer_types, checkpoint::LayerType::kFullAttention);
  EXPECT_DOUBLE_EQ(one.attention,
                   4.0 * static_cast<double>(full_layers) * config_.num_attention_heads * config_.head_dim);
  const Work many = work_of(config_, false, 100);
  EXPECT_LT(many.products, 100 * one.products);
  EXPECT_GT(many.products, 100 * one.products * (1 - 1.0 / config_.num_hidden_layers));
}

TEST_F(ForwardSpeedTest, CausalAttentionIsHalfOfAllButTheLastLayers) {
  checkpoint::TextConfig config = config_;
  config.layer_types.push_back(checkpoint::LayerType::kFullAttention);  // the one before it is then whole
  constexpr double kTokens = 64;
  const double layer = 4.0 * config.num_attention_heads * config.head_dim * kTokens * kTokens;
  EXPECT_DOUBLE_EQ(work_of(config, false, kTokens).attention, layer + layer / kTokens);
  EXPECT_DOUBLE_EQ(work_of(config, true, kTokens).attention, layer / 2 + layer / kTokens);
}

TEST_F(ForwardSpeedTest, PartsAddUpToThePass) {
  ForwardSpeed speed(checkpoint_, {.dtype = cpu::Dtype::kFloat32, .threads = 2});
  const PassSpeed pass = speed.single(96, {.count = 1, .warm_up = true, .products = true});
  EXPECT_EQ(pass.tokens, 96);
  EXPECT_GT(pass.product_rate, 0);
  EXPECT_NEAR(pass.ratio, pass.flops / pass.product_rate, 1e-9 * pass.ratio);
  double parts = 0, products = 0;
  for (const model::PartTime& part : pass.parts) {
    EXPECT_GE(part.seconds, 0) << part.name;
    EXPECT_LE(part.product_seconds, part.seconds) << part.name;
    parts += part.seconds;
    products += part.product_seconds;
  }
  EXPECT_GT(products, 0);
  EXPECT_LE(parts, pass.seconds);
  EXPECT_NEAR(outside_products(pass), 1 - products / parts, 1e-9);
}

TEST_F(ForwardSpeedTest, EveryDtypeIsComparedWithProductsThatTheCpuHas) {
  for (const auto dtype : {cpu::Dtype::kFloat32, cpu::Dtype::kBfloat16, cpu::Dtype::kInt8}) {
    ProductRate rate(text_products(config_), dtype, 1);
    EXPECT_TRUE(rate.dtype() == dtype || dtype == cpu::Dtype::kBfloat16);
    EXPECT_GT(rate.flops_per_second(16), 0) << cpu::dtype_name(dtype);
  }
}

TEST_F(ForwardSpeedTest, CountsWhatSharingSaves) {
  ForwardSpeed speed(checkpoint_, {.dtype = cpu::Dtype::kFloat32, .threads = 1});
  const Saving saving = speed.shared_state(60, 8, 4, 1);
  // The leading causal layers see the state once, the last layer only the eight tokens that are read.
  const double rows = 8.0 * (60 + 4), shared_rows = 60 + 8.0 * 4, layers = config_.num_hidden_layers;
  double leading = 0;
  while (config_.layer_types[static_cast<size_t>(leading)] == checkpoint::LayerType::kLinearAttention)
    ++leading;
  EXPECT_DOUBLE_EQ(saving.rows_share,
                   (leading * shared_rows + (layers - leading - 1) * rows + 8) / (layers * rows));
}

TEST_F(ForwardSpeedTest, PacksTheSameMixedBatchEveryTime) {
  const std::vector<int> lengths = mixed_lengths();
  EXPECT_EQ(lengths, mixed_lengths());
  EXPECT_EQ(lengths.size(), 64U);
  for (const int length : lengths) {
    EXPECT_GE(length, 60);
    EXPECT_LE(length, 200);
  }
}

}  // namespace
}  // namespace d3::speed
