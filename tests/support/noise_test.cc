#include "support/noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace d3::test {
namespace {

using ::testing::ElementsAre;

// NumPy 2: np.random.Philox(key=0x0123456789abcdef_fedcba9876543210).random_raw(8).
TEST(Noise, PhiloxGivesNumPysBlocks) {
  const std::array<uint64_t, 2> key = {0xfedcba9876543210, 0x0123456789abcdef};
  EXPECT_THAT(philox4x64({1, 0, 0, 0}, key),
              ElementsAre(0x4a9f6f3d97557e44, 0xbb94315403d00d3d, 0xab998127789d5219, 0x79371346a2a0df2a));
  EXPECT_THAT(philox4x64({2, 0, 0, 0}, key),
              ElementsAre(0x5ea38f215be0c579, 0x89282f1b1507a0cb, 0x9d8b89be17df772a, 0xfffbc3437a445afe));
}

// The generator of the golden checkpoints in Python, same names.
TEST(Noise, EqualsTheGeneratorsValues) {
  EXPECT_THAT(noise("language_model.norm.weight", 6, 1.0F, 0.0F),
              ElementsAre(0.6425682306289673F, 0.43044906854629517F, -0.33356037735939026F,
                          -0.4549751877784729F, 0.3077656626701355F, 0.4235246777534485F));
  const std::vector<float> scaled = noise("a", 3, 0.2F, 0.8F);
  EXPECT_THAT(scaled, ElementsAre(0.9372352361679077F, 0.908755362033844F, 1.012547254562378F));
  EXPECT_EQ(to_bfloat16(scaled[0]), 0x3f70);
  EXPECT_EQ(to_bfloat16(scaled[2]), 0x3f82);
  EXPECT_EQ(to_float16(scaled[0]), 0x3b7f);
  EXPECT_EQ(to_float16(scaled[1]), 0x3b45);
  EXPECT_EQ(to_float16(scaled[2]), 0x3c0d);
}

TEST(Noise, HalvesRoundToNearestEven) {
  EXPECT_EQ(to_float16(0.0F), 0x0000);
  EXPECT_EQ(to_float16(-1.0F), 0xbc00);
  EXPECT_EQ(to_float16(65504.0F), 0x7bff);
  EXPECT_EQ(to_float16(65520.0F), 0x7c00);
  EXPECT_EQ(to_float16(0x1p-24F), 0x0001);
  EXPECT_EQ(to_float16(0x1p-25F), 0x0000);
  EXPECT_EQ(to_float16(0x1.8p-24F), 0x0002);
  EXPECT_EQ(to_float16(0x1p-14F), 0x0400);
  EXPECT_EQ(to_float16(0x1.ff8p-15F), 0x03ff);
  EXPECT_EQ(to_float16(1.0F + 0x1p-11F), 0x3c00);
  EXPECT_EQ(to_float16(1.0F + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(to_float16(2.0F - 0x1p-12F), 0x4000);
}

}  // namespace
}  // namespace d3::test
