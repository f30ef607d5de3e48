// media/ffmpeg.h: FFmpeg's objects with owners.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include <memory>
#include <new>

namespace d3::media {

struct FfmpegDeleter {
  void operator()(AVFormatContext* context) const { avformat_close_input(&context); }
  void operator()(AVCodecContext* context) const { avcodec_free_context(&context); }
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
  void operator()(SwsContext* context) const { sws_freeContext(context); }
  void operator()(AVIOContext* context) const {
    av_freep(&context->buffer);
    avio_context_free(&context);
  }
};

template <typename T>
using FfmpegPointer = std::unique_ptr<T, FfmpegDeleter>;

/// What an FFmpeg function allocated.
template <typename T>
FfmpegPointer<T> owned(T* object) {
  if (object == nullptr) throw std::bad_alloc();
  return FfmpegPointer<T>(object);
}

}  // namespace d3::media
