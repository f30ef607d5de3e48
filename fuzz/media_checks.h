// What must hold for any bytes that are given as an image, a video or a data URL.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/error.h"
#include "media/media.h"

namespace d3::fuzz {

/// Limits that keep one input short; the checks are the same as with the defaults.
inline media::MediaOptions small_media() {
  media::MediaOptions options;
  options.max_image_pixels = 500'000;
  options.max_image_seconds = 2;
  options.max_video_frame_pixels = 500'000;
  options.max_video_seconds = 2;
  options.max_decoded_frames = 200;
  return options;
}

/// One line of bounded length that names the item.
inline void check_refusal(const Error& error, std::string_view field) {
  const std::string_view what = error.what();
  if (error.code() != ErrorCode::kInvalidArgument || error.field() != field || !what.starts_with(field) ||
      !what.substr(field.size()).starts_with(": ") || what.size() > 300)
    std::abort();
  for (const char c : what)
    if (static_cast<unsigned char>(c) < 0x20) std::abort();
}

/// Whole frames of allowed sizes.
inline void check_pixels(const media::Pixels& pixels, const media::MediaOptions& options) {
  const int multiple = options.side_multiple;
  if (pixels.frames < 1 || pixels.height < multiple || pixels.width < multiple ||
      pixels.height % multiple != 0 || pixels.width % multiple != 0)
    std::abort();
  if (pixels.rgb.size() != static_cast<size_t>(pixels.frames) * static_cast<size_t>(pixels.height) *
                               static_cast<size_t>(pixels.width) * 3)
    std::abort();
  const size_t pairs = static_cast<size_t>(pixels.frames) / 2;
  if (pixels.is_video() && (pixels.frames % 2 != 0 || pixels.pair_seconds.size() != pairs)) std::abort();
}

/// Reads the bytes as an image of whichever format they begin with.
inline void read_any_image(const uint8_t* data, size_t size) {
  const media::MediaOptions options = small_media();
  try {
    check_pixels(media::read_image(std::as_bytes(std::span(data, size)), options, "images[0]"), options);
  } catch (const Error& error) {
    check_refusal(error, "images[0]");
  }
}

/// The same for a video.
inline void read_any_video(const uint8_t* data, size_t size) {
  const media::MediaOptions options = small_media();
  try {
    check_pixels(media::read_video(std::as_bytes(std::span(data, size)), options, "videos[0]"), options);
  } catch (const Error& error) {
    check_refusal(error, "videos[0]");
  }
}

}  // namespace d3::fuzz
