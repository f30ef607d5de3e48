// Every golden video gives the reference's frames, pixels and times.
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "golden_media.h"
#include "media/media.h"
#include "media/video_reader.h"

namespace d3::media {
namespace {

std::string shown(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "<%.1f seconds>", seconds);
  return text;
}

void expect_frames(const Pixels& pixels, simdjson::dom::element media) {
  const size_t bytes = static_cast<size_t>(pixels.height) * static_cast<size_t>(pixels.width) * 3;
  ASSERT_EQ(pixels.rgb.size(), bytes * static_cast<size_t>(pixels.frames));
  const std::span<const uint8_t> rgb(pixels.rgb);
  EXPECT_EQ(test::frame_of(pixels.height, pixels.width, rgb.first(bytes)),
            test::GoldenMedia::frame(media, "first"));
  EXPECT_EQ(test::frame_of(pixels.height, pixels.width, rgb.last(bytes)),
            test::GoldenMedia::frame(media, "last"));
}

TEST(VideoTest, GoldenVideosAreEqual) {
  const test::GoldenMedia golden;
  int videos = 0;
  for (const auto& [name, media] : golden.root()) {
    if (media["fps"].error() != simdjson::SUCCESS) continue;
    ++videos;
    SCOPED_TRACE(name);
    const auto encoded = test::media_file(std::string(name));
    VideoReader reader(encoded, {});
    EXPECT_DOUBLE_EQ(reader.properties().fps, media["fps"].get_double().value());
    ASSERT_TRUE(reader.next());
    const Image first = reader.image();
    EXPECT_EQ(first.height, test::GoldenMedia::integer(media, "source", 0));
    EXPECT_EQ(first.width, test::GoldenMedia::integer(media, "source", 1));

    const Pixels pixels = read_video(encoded, {}, "videos[0]");
    EXPECT_TRUE(pixels.is_video());
    EXPECT_EQ(pixels.frames / 2, test::GoldenMedia::integer(media, "grid_thw", 0));
    EXPECT_EQ(pixels.height / 16, test::GoldenMedia::integer(media, "grid_thw", 1));
    EXPECT_EQ(pixels.width / 16, test::GoldenMedia::integer(media, "grid_thw", 2));
    ASSERT_EQ(pixels.pair_seconds.size(), media["timestamps"].get_array().size());
    for (size_t i = 0; i < pixels.pair_seconds.size(); ++i)
      EXPECT_EQ(shown(pixels.pair_seconds[i]), media["timestamps"].at(i).get_string().value());

    EXPECT_EQ(test::frame_of(first.height, first.width, first.rgb),
              test::GoldenMedia::frame(media, "decoded"));
    expect_frames(pixels, media);
  }
  EXPECT_EQ(videos, 20);
}

}  // namespace
}  // namespace d3::media
