#include "media/frame_image.h"

extern "C" {
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include "media/refusal.h"
#include "media/sizes.h"

namespace d3::media {
namespace {

/// Where the turned image's first pixel lies in the frame, and the steps (in bytes) to the next pixel of a
/// row and to the next row.
struct Walk {
  const uint8_t* start;
  std::ptrdiff_t step_x;
  std::ptrdiff_t step_y;
};

Walk walk(const AVFrame& bgr, int rotation) {
  const std::ptrdiff_t line = bgr.linesize[0];
  const uint8_t* first = bgr.data[0];
  const uint8_t* last_row = first + line * (bgr.height - 1);
  const std::ptrdiff_t last_pixel = std::ptrdiff_t{3} * (bgr.width - 1);
  switch (rotation) {
    case 90:
      return {last_row, -line, 3};
    case 180:
      return {last_row + last_pixel, -3, -line};
    case 270:
      return {first + last_pixel, line, -3};
    default:
      return {first, 3, line};
  }
}

/// The same size on both sides, the frame's format to BGR24, bicubic, chroma samples where the frame says.
void set_formats(SwsContext& scaler, const AVFrame& frame) {
  const auto set = [&](const char* name, int64_t value) { av_opt_set_int(&scaler, name, value, 0); };
  set("sws_flags", SWS_BICUBIC);
  set("srcw", frame.width);
  set("srch", frame.height);
  set("dstw", frame.width);
  set("dsth", frame.height);
  set("src_format", frame.format);
  set("dst_format", AV_PIX_FMT_BGR24);
  int x = 0, y = 0;
  if (avcodec_enum_to_chroma_pos(&x, &y, frame.chroma_location) < 0) return;
  int log_width = 0, log_height = 0;
  if (av_pix_fmt_get_chroma_sub_sample(static_cast<AVPixelFormat>(frame.format), &log_width, &log_height) < 0)
    return;
  if (log_width > 0) set("src_h_chr_pos", x);
  if (log_height > 0) set("src_v_chr_pos", y);
}

/// The coefficients and the range that the frame names; swscale's own where it names none.
void use_colours(SwsContext& scaler, const AVFrame& frame) {
  int* from = nullptr;
  int* to = nullptr;
  int from_full = 0, to_full = 0, brightness = 0, contrast = 0, saturation = 0;
  if (sws_getColorspaceDetails(&scaler, &from, &from_full, &to, &to_full, &brightness, &contrast,
                               &saturation) < 0)
    return;  // not a conversion from YUV
  if (frame.color_range == AVCOL_RANGE_JPEG) from_full = 1;
  sws_setColorspaceDetails(&scaler, sws_getCoefficients(frame.colorspace), from_full, to, to_full, brightness,
                           contrast, saturation);
}

}  // namespace

void FrameConverter::prepare(const AVFrame& frame) {
  if (bgr_ != nullptr && bgr_->width == frame.width && bgr_->height == frame.height &&
      format_ == frame.format)
    return;
  bgr_ = owned(av_frame_alloc());
  bgr_->format = AV_PIX_FMT_BGR24;
  bgr_->width = frame.width;
  bgr_->height = frame.height;
  if (av_frame_get_buffer(bgr_.get(), 32) != 0) refuse("the video's frames ask for too much memory");
  scaler_ = owned(sws_alloc_context());
  set_formats(*scaler_, frame);
  if (sws_init_context(scaler_.get(), nullptr, nullptr) < 0)
    refuse("the video's pixel format is not supported");
  use_colours(*scaler_, frame);
  format_ = frame.format;
}

Image FrameConverter::convert(const AVFrame& frame, int rotation, const MediaOptions& options) {
  check_frame_size(frame.width, frame.height, options);
  prepare(frame);
  if (sws_scale(scaler_.get(), frame.data, frame.linesize, 0, frame.height, bgr_->data, bgr_->linesize) !=
      frame.height)
    refuse("the video's frames cannot be converted to RGB");

  const bool upright = rotation % 180 == 0;
  Image image = upright ? blank_image(frame.width, frame.height) : blank_image(frame.height, frame.width);
  const Walk path = walk(*bgr_, rotation);
  uint8_t* out = image.rgb.data();
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* pixel = path.start + y * path.step_y;
    for (int x = 0; x < image.width; ++x, pixel += path.step_x, out += 3) {
      out[0] = pixel[2];
      out[1] = pixel[1];
      out[2] = pixel[0];
    }
  }
  return image;
}

}  // namespace d3::media
