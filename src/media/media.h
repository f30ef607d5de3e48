// media/media.h: encoded images and videos become the frames that the vision tower sees. Everything here is
// a pure function of the bytes and the options: no file, no network (media/fetch.h), no shared state; any
// number of threads may call at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "media/pixels.h"

namespace d3::media {

/// What a medium may cost and how large it is shown. The defaults are the contract's and the published
/// preprocessors' (patch_size 16, merge_size 2: checkpoint::check_preprocessors refuses any other).
struct MediaOptions {
  /// Sides of what read_image and read_video give are multiples of patch_size * merge_size.
  int side_multiple = 32;
  /// The longer side over the shorter one, at most.
  int max_aspect_ratio = 200;

  // Images.
  size_t max_image_bytes = 8'000'000;     ///< encoded
  int64_t max_image_pixels = 16'000'000;  ///< as the file's header says, before anything is allocated
  int64_t min_resized_pixels = 65'536;
  int64_t max_resized_pixels = 1'638'400;
  /// CPU seconds of the calling thread that decoding one image may take.
  double max_image_seconds = 2;

  // Videos.
  size_t max_video_bytes = 32'000'000;         ///< encoded
  int64_t max_video_frame_pixels = 8'294'400;  ///< of one frame
  double max_video_duration = 300;             ///< seconds, as shown
  /// Frames that are decoded for the sake of the sampled ones, at most.
  int64_t max_decoded_frames = 100'000;
  /// CPU seconds of the calling thread that reading one video may take.
  double max_video_seconds = 30;

  double sampled_frames_per_second = 2;
  int min_sampled_frames = 4;
  int max_sampled_frames = 32;
  int64_t min_video_pixels = 4'096;                  ///< over all frames, resized
  int64_t max_video_pixels = 32 * 200'704;           ///< over all frames, resized
  int64_t max_video_pixels_per_frame = 196 * 1'024;  ///< resized
};

/// Decodes a PNG, JPEG or WebP image (known by its first bytes) to RGB as Pillow's convert("RGB") does and
/// resizes it as the reference does (media/image.h, media/resize.h); one frame.
/// Throws Error(kInvalidArgument) for anything else, for damaged files and beyond the limits, with `field`
/// (`images[0]`) as the error's field and at the front of its message.
Pixels read_image(std::span<const std::byte> encoded, const MediaOptions& options, std::string_view field);

/// Decodes, samples and resizes a video (media/video.h). Errors as read_image.
Pixels read_video(std::span<const std::byte> encoded, const MediaOptions& options, std::string_view field);

}  // namespace d3::media
