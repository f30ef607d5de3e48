#include "media/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::media {
namespace {

using testing::ElementsAre;

// The expected sizes are the reference's own (transformers' smart_resize) for these sources.
TEST(SizesTest, ImagesFollowTheReference) {
  const MediaOptions options;
  EXPECT_EQ(resized_image_size({256, 256}, options), (Size{256, 256}));
  EXPECT_EQ(resized_image_size({1, 1}, options), (Size{256, 256}));
  EXPECT_EQ(resized_image_size({9, 1500}, options), (Size{32, 3328}));
  EXPECT_EQ(resized_image_size({272, 304}, options), (Size{256, 320}));  // 8.5 and 9.5 go to even
  EXPECT_EQ(resized_image_size({1300, 2300}, options), (Size{960, 1696}));
  EXPECT_EQ(resized_image_size({3000, 4000}, options), (Size{1088, 1472}));
  EXPECT_EQ(resized_image_size({1280, 1280}, options), (Size{1280, 1280}));  // just the maximum
  EXPECT_EQ(resized_image_size({282, 56400}, options), (Size{64, 18080}));
}

TEST(SizesTest, NarrowImagesAreRefused) {
  EXPECT_NO_THROW(resized_image_size({2, 400}, {}));
  EXPECT_THROW(resized_image_size({2, 401}, {}), Error);
  EXPECT_THROW(resized_image_size({401, 2}, {}), Error);
}

TEST(SizesTest, VideosShareABudget) {
  const MediaOptions options;
  EXPECT_EQ(resized_video_size(6, {240, 320}, options), (Size{256, 320}));
  EXPECT_EQ(resized_video_size(4, {720, 1280}, options), (Size{320, 576}));
  EXPECT_EQ(resized_video_size(2, {64, 64}, options), (Size{64, 64}));
  EXPECT_EQ(resized_video_size(32, {2160, 3840}, options), (Size{320, 576}));
  EXPECT_EQ(resized_video_size(4, {10, 1500}, options), (Size{32, 4800}));  // scaled up before the cap
}

TEST(SizesTest, FramesAreEvenlySpread) {
  const MediaOptions options;
  EXPECT_THAT(sampled_frames(75, 25, options), ElementsAre(0, 15, 30, 44, 59, 74));
  EXPECT_THAT(sampled_frames(60, 30, options), ElementsAre(0, 20, 39, 59));
  EXPECT_THAT(sampled_frames(5, 10, options), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(sampled_frames(2, 1, options), ElementsAre(0, 1));
  EXPECT_THAT(sampled_frames(1, 25, options), ElementsAre(0));
  EXPECT_EQ(sampled_frames(200, 10, options).size(), 32U);
  EXPECT_EQ(sampled_frames(1'000'000'000, 0.1, options).back(), 999'999'999);
}

TEST(SizesTest, PairsShowTheirMeanTime) {
  EXPECT_THAT(pair_seconds({0, 15, 30, 44}, 25), ElementsAre(0.3, 1.48));
}

}  // namespace
}  // namespace d3::media
