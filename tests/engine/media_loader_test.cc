#include "engine/media_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/golden_media_request.h"

namespace d3::engine {
namespace {

using testing::HasSubstr;

decision::Medium file(const std::string& name) { return {.file = test::media_bytes("media/" + name)}; }

decision::Request with(std::vector<decision::Medium> images, std::vector<decision::Medium> videos = {}) {
  decision::Request request;
  request.images = std::move(images);
  request.videos = std::move(videos);
  return request;
}

void expect_refused(const MediaLoader& loader, const decision::Request& request, const std::string& field,
                    const std::string& reason, ErrorCode code = ErrorCode::kInvalidArgument) {
  try {
    loader.load(request);
    ADD_FAILURE() << "accepted where this was expected: " << reason;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(error.field(), field) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

TEST(MediaLoader, ReadsTheSameBytesOnce) {
  const MediaLoader loader({}, nullptr);
  const auto media =
      loader.load(with({file("rgb.png"), file("gray.png"), file("rgb.png")}, {file("short.mp4")}));
  ASSERT_EQ(media.size(), 4U);
  EXPECT_EQ(media[0], media[2]);
  EXPECT_NE(media[0], media[1]);
  EXPECT_NE(media[0]->key, media[1]->key);
  EXPECT_EQ(media[0]->pixels->height, 32 * media[0]->shape.rows);
  EXPECT_EQ(media[0]->pixels->width, 32 * media[0]->shape.columns);
  EXPECT_FALSE(media[0]->shape.is_video());
  EXPECT_TRUE(media[3]->shape.is_video());
  EXPECT_EQ(media[3]->shape.blocks(), 2U);
  EXPECT_EQ(media[3]->shape.tokens(), 40);
}

TEST(MediaLoader, TakesFeaturesThatAreThere) {
  VisionCache cache(1 << 20);
  const MediaLoader loader({}, &cache);
  const auto first = loader.load(with({file("gray.png")}));
  auto encoded = std::make_shared<EncodedMedia>();
  encoded->shape = first[0]->shape;
  encoded->features.resize(64);
  cache.add(first[0]->key, encoded);
  const auto second = loader.load(with({file("gray.png"), file("gray.png")}));
  EXPECT_EQ(second[0]->encoded, encoded);
  EXPECT_EQ(second[0]->pixels, nullptr);
  EXPECT_EQ(second[0]->shape.tokens(), first[0]->shape.tokens());
  EXPECT_EQ(cache.counters().hits, 1U);
}

TEST(MediaLoader, NamesTheItem) {
  const MediaLoader loader({}, nullptr);
  expect_refused(loader, with({file("gray.png"), {.file = std::vector<std::byte>(20)}}), "images[1]",
                 "not a PNG");
  expect_refused(loader, with({file("gray.png")}, {file("gray.png")}), "videos[0]", "videos[0]: ");
  expect_refused(loader, with({{.url = "data:image/png;base64,AAAA"}}), "images[0]", "not a PNG");
  expect_refused(loader, with({{.url = "http://127.0.0.1/x.png"}}), "images[0]", "public addresses only");
  MediaLoaderOptions offline;
  offline.fetch.remote = false;
  expect_refused(MediaLoader(offline, nullptr), with({{.url = "http://example.com/x.png"}}), "images[0]",
                 "turned off");
}

TEST(MediaLoader, HasLimits) {
  MediaLoaderOptions few;
  few.max_items = 2;
  const MediaLoader two(few, nullptr);
  EXPECT_NO_THROW(two.load(with({file("gray.png")}, {file("short.mp4")})));
  expect_refused(two, with({file("gray.png"), file("gray.png")}, {file("short.mp4")}), "videos[0]",
                 "at most 2");

  MediaLoaderOptions short_videos;
  short_videos.max_video_tokens = 79;
  const MediaLoader loader(short_videos, nullptr);
  EXPECT_NO_THROW(loader.load(with({}, {file("short.mp4")})));
  expect_refused(loader, with({}, {file("short.mp4"), file("short.mp4")}), "videos[1]",
                 "have 80 tokens, the limit is 79");

  MediaLoaderOptions no_time;
  no_time.max_request_seconds = 0;
  expect_refused(MediaLoader(no_time, nullptr), with({file("gray.png")}), "images[0]", "too long");
}

TEST(MediaLoader, BoundsThePixelsThatWait) {
  MediaLoaderOptions options;
  options.max_waiting_bytes = 3 * 256 * 256 * 3 / 2;  // one and a half of the image below
  const MediaLoader loader(options, nullptr);
  auto held = loader.load(with({file("gray.png")}));
  EXPECT_EQ(held[0]->pixels->rgb.size(), 3U * 256 * 256);
  expect_refused(loader, with({file("gray.png")}), "", "too many images and videos", ErrorCode::kOverloaded);
  held.clear();
  EXPECT_NO_THROW(loader.load(with({file("gray.png")})));
}

}  // namespace
}  // namespace d3::engine
