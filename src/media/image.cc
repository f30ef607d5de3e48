#include "media/image.h"

#include <string>

#include "media/refusal.h"
#include "media/resize.h"
#include "media/sizes.h"

namespace d3::media {

Image allocate_image(int64_t width, int64_t height, const MediaOptions& options) {
  if (width < 1 || height < 1) refuse("the image has no pixels");
  if (width > options.max_image_pixels / height)
    refuse(size_text(width, height) + " are more than the " + std::to_string(options.max_image_pixels) +
           " allowed");
  check_aspect_ratio(height, width, options);
  Image image{.width = static_cast<int>(width), .height = static_cast<int>(height), .rgb = {}};
  const size_t bytes = static_cast<size_t>(width) * static_cast<size_t>(height) * 3;
  image.rgb.reserve(bytes + kVectorSlack);
  image.rgb.resize(bytes);
  return image;
}

Image decode_image(Bytes encoded, const MediaOptions& options) {
  if (encoded.size() > options.max_image_bytes)
    refuse("the image's " + std::to_string(encoded.size()) + " bytes are more than the " +
           std::to_string(options.max_image_bytes) + " allowed");
  if (is_png(encoded)) return decode_png(encoded, options);
  if (is_jpeg(encoded)) return decode_jpeg(encoded, options);
  if (is_webp(encoded)) return decode_webp(encoded, options);
  refuse("not a PNG, JPEG or WebP image");
}

}  // namespace d3::media
