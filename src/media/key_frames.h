// media/key_frames.h: where the decoding of a video may start so that the frames that follow are the same as
// if everything before them had been decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "media/ffmpeg.h"

namespace d3::media {

/// The key frames of an H.264 stream in MP4 or QuickTime, whose index (ISO/IEC 14496-12, `stbl`) lists every
/// sample. At an IDR picture (ITU-T H.264, 7.4.1.2.4) the decoder forgets all earlier pictures, and all of
/// them come out before it: as many frames as there are samples in front of it. Key frames that are no IDR
/// pictures (open groups of pictures), other codecs, edit lists and containers without such an index promise
/// less: there are no key frames in them to start at.
class KeyFrames {
 public:
  struct KeyFrame {
    int64_t number = 0;     ///< of frames that come before it
    int64_t timestamp = 0;  ///< decoding time, in the stream's time base
    /// Decoding time of the last frame before the next key frame. FFmpeg seeks to the last key frame that is
    /// shown up to a time; a key frame's own decoding time is before that.
    int64_t last_timestamp = 0;
  };

  KeyFrames() = default;
  explicit KeyFrames(AVStream* stream);

  /// The last key frame among the frames 0 .. `number`; none where decoding must start at the beginning.
  std::optional<KeyFrame> last_up_to(int64_t number) const;

  /// The key frame that starts with this packet; none when the packet holds no IDR picture.
  std::optional<KeyFrame> starting_with(const AVPacket& packet) const;

 private:
  bool holds_idr(const AVPacket& packet) const;

  std::vector<KeyFrame> frames_;      // in ascending order of both
  size_t nal_unit_length_bytes_ = 0;  // ISO/IEC 14496-15, `lengthSizeMinusOne` + 1
};

}  // namespace d3::media
