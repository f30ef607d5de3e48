#include "media/media.h"

#include "media/image.h"
#include "media/refusal.h"
#include "media/resize.h"
#include "media/sizes.h"
#include "media/video.h"

namespace d3::media {

Pixels read_image(std::span<const std::byte> encoded, const MediaOptions& options, std::string_view field) {
  return naming(field, [&] {
    Image source = decode_image(encoded, options);
    const Size size = resized_image_size({source.height, source.width}, options);
    return Pixels{.frames = 1,
                  .height = size.height,
                  .width = size.width,
                  .rgb = resize(std::move(source), size.height, size.width).rgb,
                  .pair_seconds = {}};
  });
}

Pixels read_video(std::span<const std::byte> encoded, const MediaOptions& options, std::string_view field) {
  return naming(field, [&] { return sample_video(encoded, options); });
}

}  // namespace d3::media
