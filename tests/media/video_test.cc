// Every golden video gives the reference's frames, pixels and times.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "golden_media.h"
#include "media/media.h"
#include "media/resize.h"
#include "media/sizes.h"
#include "media/video_reader.h"

namespace d3::media {
namespace {

std::string shown(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "<%.1f seconds>", seconds);
  return text;
}

size_t position_of(const std::vector<std::byte>& bytes, std::string_view text) {
  const auto found =
      std::search(bytes.begin(), bytes.end(), text.begin(), text.end(),
                  [](std::byte byte, char wanted) { return static_cast<char>(byte) == wanted; });
  return static_cast<size_t>(found - bytes.begin());
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

/// The sampled frames of a video of `total` frames at `fps`, found by decoding all of them.
std::vector<uint8_t> frames_by_decoding_all(const std::vector<std::byte>& encoded, int64_t total, double fps,
                                            Size size) {
  std::vector<uint8_t> rgb;
  VideoReader reader(encoded, {});
  int64_t number = 0;
  for (const int64_t wanted : sampled_frames(total, fps, {})) {
    for (; number <= wanted; ++number) EXPECT_TRUE(reader.next());
    const Image frame = resize(reader.image(), size.height, size.width);
    rgb.insert(rgb.end(), frame.rgb.begin(), frame.rgb.end());
  }
  return rgb;
}

// Both last 12 s at 30 frames a second, with a key frame every 12 frames. In the second, most key frames are
// no IDR pictures: frames after them in the file are shown before them.
TEST(VideoTest, PassingOverFramesGivesTheSameFrames) {
  for (const char* const name : {"groups.mp4", "open-groups.mp4"}) {
    SCOPED_TRACE(name);
    const auto encoded = test::media_file(name);
    const Pixels pixels = read_video(encoded, {}, "videos[0]");
    EXPECT_EQ(pixels.frames, 24);
    EXPECT_TRUE(pixels.rgb == frames_by_decoding_all(encoded, 360, 30, {pixels.height, pixels.width}));
  }
}

TEST(VideoTest, OnlyTheGroupsOfWantedFramesAreDecoded) {
  MediaOptions options;
  options.max_decoded_frames = 200;
  EXPECT_EQ(read_video(test::media_file("groups.mp4"), options, "videos[0]").frames, 24);
  EXPECT_THROW(read_video(test::media_file("open-groups.mp4"), options, "videos[0]"), Error);
}

// The index promises frames that a file cut short does not hold: the reader starts anew and decodes what is
// there.
TEST(VideoTest, AFileCutShortGivesTheFramesThatAreThere) {
  auto encoded = test::media_file("groups.mp4");
  const size_t moov = position_of(encoded, "moov");
  const size_t mdat = position_of(encoded, "mdat");
  ASSERT_LT(mdat, moov);  // so the index can be kept
  const size_t cut = mdat + (moov - mdat) / 2;
  std::fill(encoded.begin() + static_cast<std::ptrdiff_t>(cut),
            encoded.begin() + static_cast<std::ptrdiff_t>(moov - 4), std::byte{0});
  const Pixels pixels = read_video(encoded, {}, "videos[0]");
  const Pixels whole = read_video(test::media_file("groups.mp4"), {}, "videos[0]");
  ASSERT_GE(pixels.frames, 8);
  ASSERT_LE(pixels.frames, 16);
  const size_t first_half = pixels.rgb.size() / static_cast<size_t>(pixels.frames) * 8;
  EXPECT_TRUE(std::equal(pixels.rgb.begin(), pixels.rgb.begin() + static_cast<std::ptrdiff_t>(first_half),
                         whole.rgb.begin()));
}

}  // namespace
}  // namespace d3::media
