// media/pixels.h: an image or a video as the vision tower sees it: sampled, resized RGB frames.
#pragma once

#include <cstdint>
#include <vector>

namespace d3::media {

/// Frames of one image (exactly one) or of one video (an even number, at least two), all of one size whose
/// sides are multiples of 32 (patch_size x merge_size, preprocessor_config.json). 8-bit RGB, not normalised.
struct Pixels {
  int frames = 0;
  int height = 0;
  int width = 0;
  std::vector<uint8_t> rgb;  ///< [frames, height, width, 3]

  /// Videos only: the time shown in the prompt for each pair of frames, in seconds (the mean of the two
  /// frames' times), frames / 2 of them. Empty for an image.
  std::vector<double> pair_seconds;

  bool is_video() const { return !pair_seconds.empty(); }
};

}  // namespace d3::media
