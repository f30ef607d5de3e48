// media/sizes.h: how large an image or a video's frames are shown, and which frames a video gives.
// The rules are the reference's (transformers: Qwen2-VL images, Qwen3-VL videos).
#pragma once

#include <cstdint>
#include <vector>

#include "media/media.h"

namespace d3::media {

struct Size {
  int height = 0;
  int width = 0;
  bool operator==(const Size&) const = default;
};

/// Throws Error(kInvalidArgument) when the longer side is more than options.max_aspect_ratio times the other.
void check_aspect_ratio(int64_t height, int64_t width, const MediaOptions& options);

/// Throws Error(kInvalidArgument) when a video's frame has more pixels than the options allow.
void check_frame_size(int64_t width, int64_t height, const MediaOptions& options);

/// Each side rounded (half to even) to the multiple of 32; an area beyond the limits is scaled into them.
Size resized_image_size(Size source, const MediaOptions& options);

/// The same for `frames` frames together, each of them under its share of the budget.
Size resized_video_size(int frames, Size source, const MediaOptions& options);

/// Numbers of the frames to take from `total` (> 0) frames at `fps` (> 0), in order, without the repetition
/// that makes their count even.
std::vector<int64_t> sampled_frames(int64_t total, double fps, const MediaOptions& options);

/// The mean time of each pair of `frames` (an even number of frame numbers), in seconds.
std::vector<double> pair_seconds(const std::vector<int64_t>& frames, double fps);

}  // namespace d3::media
