// media/image.h: PNG, JPEG and WebP bytes → RGB pixels, equal to Pillow's convert("RGB") bit for bit.
//
// Alpha is dropped, not blended. 16-bit RGB and gray+alpha keep their high byte; 16-bit gray is clipped at
// 255. Gray of 1, 2 and 4 bits is spread over 0..255. CMYK (as Adobe inverts it) becomes RGB by one product
// per channel. EXIF rotation and colour profiles have no effect. An animation gives its first frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "media/media.h"

namespace d3::media {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;  ///< [height, width, 3]
};

using Bytes = std::span<const std::byte>;

/// Throws Error(kInvalidArgument, reason), without a field, for what is not an image of these formats, for a
/// damaged or cut file, and beyond the limits of `options`; sizes are refused from the header, before any
/// pixel is allocated.
Image decode_image(Bytes encoded, const MediaOptions& options);

// One format each; decode_image picks by the first bytes (media/image_type.h).
Image decode_png(Bytes encoded, const MediaOptions& options);
Image decode_jpeg(Bytes encoded, const MediaOptions& options);
Image decode_webp(Bytes encoded, const MediaOptions& options);

/// A black image with room for what resizing may read and write beyond its pixels (media/resize.h).
Image blank_image(int width, int height);

/// Makes room for an image of a header's size; refuses sizes beyond the limits.
Image allocate_image(int64_t width, int64_t height, const MediaOptions& options);

}  // namespace d3::media
