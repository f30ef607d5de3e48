// media/video_reader.h: the frames of a video file in memory, one after another, as OpenCV gives them.
//
// FFmpeg's libraries do the work, on the calling thread alone and on the bytes alone: two demuxers
// (MP4/QuickTime and Matroska/WebM, known by the first bytes), the decoders of kVideoCodecs, no protocol and
// no other file.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "media/image.h"

namespace d3::media {

/// The decoders that a file may use, by FFmpeg's names.
inline constexpr std::string_view kVideoCodecs = "h264,hevc,vp8,vp9,libdav1d,mpeg4,prores";

/// What the container says of its first video stream (attached pictures aside).
struct VideoProperties {
  double fps = 0;            ///< > 0; 24 where the container says something outside 0.1 .. 1000
  int64_t total_frames = 0;  ///< 0 when the container does not say; it may promise more than the file holds
  int width = 0;             ///< before rotation
  int height = 0;
  int rotation = 0;  ///< degrees clockwise that frames are turned: 0, 90, 180 or 270
};

class VideoReader {
 public:
  /// Opens the video; `encoded` must outlive the reader. Throws Error(kInvalidArgument, reason) for what is
  /// not a video of these formats and codecs, and beyond the limits of `options`.
  VideoReader(Bytes encoded, const MediaOptions& options);
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;
  ~VideoReader();

  const VideoProperties& properties() const;

  /// Decodes the next frame; false at the end. Packets that cannot be decoded give no frame. Throws
  /// Error(kInvalidArgument) when the limits of time or frames are passed.
  bool next();

  /// Passes over frames that need not be decoded to give frame `wanted` (counted from 0, not before the next
  /// one), where the container says at which frames decoding can start (media/key_frames.h). Returns the
  /// number of the frame that next() gives then: `wanted` or one before it. Errors as next().
  int64_t skip_towards(int64_t wanted);

  /// The frame that next() decoded, as RGB and turned. Throws Error(kInvalidArgument) where it cannot be
  /// converted.
  Image image();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace d3::media
