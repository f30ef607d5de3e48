#include "media/video.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "media/refusal.h"
#include "media/resize.h"
#include "media/sizes.h"
#include "media/video_reader.h"

namespace d3::media {
namespace {

/// Decodes the whole video to know how many frames it has.
int64_t count_frames(VideoReader reader) {
  int64_t total = 0;
  while (reader.next()) ++total;
  return total;
}

struct Sampling {
  Size source;
  Size size;
  std::vector<int64_t> numbers;  ///< of the frames, an even count: the repeated one is included
  std::vector<uint8_t> rgb;

  int frames() const { return static_cast<int>(numbers.size()); }
};

/// Takes the `wanted` frames and resizes them as `expected` frames of a video are.
Sampling sample(VideoReader reader, const std::vector<int64_t>& wanted, int expected,
                const MediaOptions& options) {
  Sampling result;
  for (const int64_t target : wanted) {
    bool there = true;
    int64_t number = reader.skip_towards(target);
    while (there && number <= target) {
      there = reader.next();
      ++number;
    }
    if (!there) break;
    Image image = reader.image();
    const Size source{image.height, image.width};
    if (result.numbers.empty()) {
      result.source = source;
      result.size = resized_video_size(expected, source, options);
    }
    if (source != result.source) refuse("the video's frames change their size");
    const Image resized = resize(std::move(image), result.size.height, result.size.width);
    result.numbers.push_back(target);
    result.rgb.insert(result.rgb.end(), resized.rgb.begin(), resized.rgb.end());
  }
  if (result.numbers.empty()) refuse("the video holds no frame that can be decoded");
  if (result.numbers.size() % 2 != 0) {
    const size_t bytes = result.rgb.size() / result.numbers.size();
    result.numbers.push_back(result.numbers.back());
    result.rgb.resize(result.rgb.size() + bytes);
    std::copy_n(result.rgb.end() - static_cast<std::ptrdiff_t>(2 * bytes), bytes,
                result.rgb.end() - static_cast<std::ptrdiff_t>(bytes));
  }
  return result;
}

}  // namespace

Pixels sample_video(Bytes encoded, const MediaOptions& options) {
  check_byte_count("video", encoded.size(), options.max_video_bytes);
  VideoReader reader(encoded, options);
  const double fps = reader.properties().fps;
  int64_t total = reader.properties().total_frames;
  if (total == 0) {
    total = count_frames(std::move(reader));
    if (total == 0) refuse("the video holds no frame that can be decoded");
    reader = VideoReader(encoded, options);
  }
  const double seconds = static_cast<double>(total) / fps;
  if (seconds > options.max_video_duration)
    refuse("the video lasts " + std::to_string(std::llround(seconds)) + " s, more than the " +
           std::to_string(std::llround(options.max_video_duration)) + " s allowed");

  const std::vector<int64_t> wanted = sampled_frames(total, fps, options);
  const int expected = static_cast<int>(wanted.size() + wanted.size() % 2);
  Sampling sampling = sample(std::move(reader), wanted, expected, options);
  // The size hangs on the number of frames that are there, which a small video cut short changes.
  if (resized_video_size(sampling.frames(), sampling.source, options) != sampling.size)
    sampling = sample(VideoReader(encoded, options), wanted, sampling.frames(), options);
  return {.frames = sampling.frames(),
          .height = sampling.size.height,
          .width = sampling.size.width,
          .rgb = std::move(sampling.rgb),
          .pair_seconds = pair_seconds(sampling.numbers, fps)};
}

}  // namespace d3::media
