#include "media/image.h"

#include <string>

#include "media/image_type.h"
#include "media/refusal.h"
#include "media/resize.h"
#include "media/sizes.h"

namespace d3::media {

Image blank_image(int width, int height) {
  Image image{.width = width, .height = height, .rgb = {}};
  const size_t bytes = static_cast<size_t>(width) * static_cast<size_t>(height) * 3;
  image.rgb.reserve(bytes + kVectorSlack);
  image.rgb.resize(bytes);
  return image;
}

Image allocate_image(int64_t width, int64_t height, const MediaOptions& options) {
  if (width < 1 || height < 1) refuse("the image has no pixels");
  if (width > options.max_image_pixels / height)
    refuse(size_text(width, height) + " are more than the " + std::to_string(options.max_image_pixels) +
           " allowed");
  check_aspect_ratio(height, width, options);
  return blank_image(static_cast<int>(width), static_cast<int>(height));
}

Image decode_image(Bytes encoded, const MediaOptions& options) {
  check_byte_count("image", encoded.size(), options.max_image_bytes);
  const auto type = image_type({reinterpret_cast<const char*>(encoded.data()), encoded.size()});
  if (!type) refuse("not a PNG, JPEG or WebP image");
  switch (*type) {
    case ImageType::kPng:
      return decode_png(encoded, options);
    case ImageType::kJpeg:
      return decode_jpeg(encoded, options);
    case ImageType::kWebp:
      return decode_webp(encoded, options);
  }
  throw Error(ErrorCode::kInternal, "an image type without a decoder");
}

}  // namespace d3::media
