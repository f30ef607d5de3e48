#include "media/sizes.h"

#include <algorithm>
#include <cmath>

#include "media/refusal.h"

namespace d3::media {
namespace {

/// value / multiple rounded to the nearest integer, ties to even, times multiple.
int64_t round_to(int64_t value, int multiple) {
  // Default rounding mode; the quotient by a power of two is exact, others are as Python's round(a / b).
  return static_cast<int64_t>(std::nearbyint(static_cast<double>(value) / multiple)) * multiple;
}

/// Rounds both sides and brings frames * height * width between the two limits.
Size fitted(int64_t frames, int64_t rounded_frames, int64_t height, int64_t width, int64_t min_pixels,
            int64_t max_pixels, int multiple) {
  int64_t rounded_height = round_to(height, multiple);
  int64_t rounded_width = round_to(width, multiple);
  const int64_t rounded_area = rounded_frames * rounded_height * rounded_width;
  const auto area = static_cast<double>(frames * height * width);
  if (rounded_area > max_pixels) {
    const double beta = std::sqrt(area / static_cast<double>(max_pixels));
    const auto shrink = [&](int64_t side) {
      const double blocks = std::floor(static_cast<double>(side) / beta / multiple);
      return std::max<int64_t>(multiple, static_cast<int64_t>(blocks) * multiple);
    };
    rounded_height = shrink(height);
    rounded_width = shrink(width);
  } else if (rounded_area < min_pixels) {
    const double beta = std::sqrt(static_cast<double>(min_pixels) / area);
    const auto grow = [&](int64_t side) {
      return static_cast<int64_t>(std::ceil(static_cast<double>(side) * beta / multiple)) * multiple;
    };
    rounded_height = grow(height);
    rounded_width = grow(width);
  }
  return {static_cast<int>(rounded_height), static_cast<int>(rounded_width)};
}

}  // namespace

void check_aspect_ratio(int64_t height, int64_t width, const MediaOptions& options) {
  const int64_t longer = std::max(height, width);
  const int64_t shorter = std::min(height, width);
  if (longer > shorter * options.max_aspect_ratio)
    refuse(size_text(width, height) + " is too narrow: the longer side may be at most " +
           std::to_string(options.max_aspect_ratio) + " times the other");
}

void check_frame_size(int64_t width, int64_t height, const MediaOptions& options) {
  if (width * height > options.max_video_frame_pixels)
    refuse("frames of " + size_text(width, height) + " are more than the " +
           std::to_string(options.max_video_frame_pixels) + " allowed");
}

Size resized_image_size(Size source, const MediaOptions& options) {
  check_aspect_ratio(source.height, source.width, options);
  return fitted(1, 1, source.height, source.width, options.min_resized_pixels, options.max_resized_pixels,
                options.side_multiple);
}

Size resized_video_size(int frames, Size source, const MediaOptions& options) {
  const int64_t share = std::min(options.max_video_pixels_per_frame, options.max_video_pixels / frames);
  const auto least = static_cast<int64_t>(static_cast<double>(options.min_video_pixels) * 1.05);
  const int64_t max_pixels = std::max(share, least) * frames;
  const int multiple = options.side_multiple;
  int64_t height = source.height;
  int64_t width = source.width;
  if (height < multiple || width < multiple) {
    const double scale = std::max(static_cast<double>(multiple) / static_cast<double>(height),
                                  static_cast<double>(multiple) / static_cast<double>(width));
    height = static_cast<int64_t>(static_cast<double>(height) * scale);
    width = static_cast<int64_t>(static_cast<double>(width) * scale);
  }
  check_aspect_ratio(height, width, options);
  return fitted(frames, round_to(frames, 2), height, width, options.min_video_pixels, max_pixels, multiple);
}

std::vector<int64_t> sampled_frames(int64_t total, double fps, const MediaOptions& options) {
  const double in_time = static_cast<double>(total) / fps * options.sampled_frames_per_second;
  const double bounded = std::clamp(in_time, static_cast<double>(options.min_sampled_frames),
                                    static_cast<double>(options.max_sampled_frames));
  const int64_t count = std::min(static_cast<int64_t>(bounded), total);
  std::vector<int64_t> frames;
  // As numpy's linspace: multiples of one step, the last one exact.
  const double step = count > 1 ? static_cast<double>(total - 1) / static_cast<double>(count - 1) : 0;
  for (int64_t i = 0; i + 1 < count; ++i)
    frames.push_back(static_cast<int64_t>(std::nearbyint(static_cast<double>(i) * step)));
  frames.push_back(count > 1 ? total - 1 : 0);
  return frames;
}

std::vector<double> pair_seconds(const std::vector<int64_t>& frames, double fps) {
  std::vector<double> seconds;
  for (size_t i = 0; i + 1 < frames.size(); i += 2)
    seconds.push_back((static_cast<double>(frames[i]) / fps + static_cast<double>(frames[i + 1]) / fps) / 2);
  return seconds;
}

}  // namespace d3::media
