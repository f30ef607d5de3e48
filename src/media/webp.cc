// WebP by libwebp: a still image, or the first frame of an animation on its (black) canvas.
#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

#include "media/image.h"
#include "media/refusal.h"

namespace d3::media {
namespace {

const uint8_t* bytes(Bytes encoded) { return reinterpret_cast<const uint8_t*>(encoded.data()); }

/// Decodes one WebP stream of width x height pixels into the image at (left, top).
void decode_into(Image& image, int left, int top, int width, int height, const uint8_t* data, size_t size) {
  const size_t stride = static_cast<size_t>(image.width) * 3;
  const size_t start = static_cast<size_t>(top) * stride + static_cast<size_t>(left) * 3;
  const size_t room = static_cast<size_t>(height - 1) * stride + static_cast<size_t>(width) * 3;
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(data, size, &features) != VP8_STATUS_OK || features.width != width ||
      features.height != height)
    refuse("damaged WebP image");
  if (WebPDecodeRGBInto(data, size, image.rgb.data() + start, room, static_cast<int>(stride)) == nullptr)
    refuse("damaged WebP image, or cut short");
}

struct DemuxerDeleter {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

Image decode_first_frame(Bytes encoded, const MediaOptions& options) {
  const WebPData data{bytes(encoded), encoded.size()};
  const std::unique_ptr<WebPDemuxer, DemuxerDeleter> demuxer(
      WebPDemux(&data));  // none unless all frames are there
  if (demuxer == nullptr) refuse("damaged WebP animation, or cut short");
  Image image = allocate_image(WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_WIDTH),
                               WebPDemuxGetI(demuxer.get(), WEBP_FF_CANVAS_HEIGHT), options);
  WebPIterator frame{};
  if (WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0) refuse("damaged WebP animation, or cut short");
  const bool fits = frame.complete != 0 && frame.width > 0 && frame.height > 0 && frame.x_offset >= 0 &&
                    frame.y_offset >= 0 && frame.width <= image.width - frame.x_offset &&
                    frame.height <= image.height - frame.y_offset;
  if (!fits) refuse("damaged WebP animation, or cut short");
  decode_into(image, frame.x_offset, frame.y_offset, frame.width, frame.height, frame.fragment.bytes,
              frame.fragment.size);
  return image;
}

}  // namespace

Image decode_webp(Bytes encoded, const MediaOptions& options) {
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(bytes(encoded), encoded.size(), &features) != VP8_STATUS_OK)
    refuse("damaged WebP image, or cut short");
  if (features.has_animation != 0) return decode_first_frame(encoded, options);
  Image image = allocate_image(features.width, features.height, options);
  decode_into(image, 0, 0, image.width, image.height, bytes(encoded), encoded.size());
  return image;
}

}  // namespace d3::media
