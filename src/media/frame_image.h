// media/frame_image.h: a decoded video frame → RGB, as OpenCV does it.
#pragma once

#include "media/ffmpeg.h"
#include "media/image.h"

namespace d3::media {

/// swscale to BGR24 at the same size with the bicubic flag alone, with the coefficients, the range and the
/// chroma siting that the frame names; keeps its context between frames of one size and format.
class FrameConverter {
 public:
  /// `rotation`: degrees clockwise, a multiple of 90. Throws Error(kInvalidArgument) for sizes beyond the
  /// limits and formats that cannot be converted.
  Image convert(const AVFrame& frame, int rotation, const MediaOptions& options);

 private:
  void prepare(const AVFrame& frame);

  FfmpegPointer<SwsContext> scaler_;
  FfmpegPointer<AVFrame> bgr_;
  int format_ = AV_PIX_FMT_NONE;
};

}  // namespace d3::media
