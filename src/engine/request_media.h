// engine/request_media.h: a request's images and videos on their way to the executor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "media/pixels.h"
#include "model/executor.h"

namespace d3::engine {

/// SHA-256 of a file's bytes and of all that decides what the vision tower sees of them.
using MediaKey = std::array<uint8_t, 32>;

/// The tokens of an image or a video: a block of rows x columns for an image or for each pair of frames.
struct MediaShape {
  int rows = 0;  ///< one token for each 32 x 32 pixels
  int columns = 0;
  std::vector<double> pair_seconds =
      {};  ///< videos: the time that the prompt shows for each block; else empty

  bool is_video() const { return !pair_seconds.empty(); }
  size_t blocks() const { return is_video() ? pair_seconds.size() : 1; }
  int64_t block_tokens() const { return static_cast<int64_t>(rows) * columns; }
  int64_t tokens() const { return block_tokens() * static_cast<int64_t>(blocks()); }
};

/// What the vision tower made of an image or a video.
struct EncodedMedia {
  MediaShape shape;
  model::MediaFeatures features;  ///< [shape.tokens(), hidden_size]

  size_t bytes() const { return sizeof *this + features.size() * sizeof(float); }
};

/// A distinct image or video of one request. Only one thread touches it at a time: one that prepares the
/// request, then the engine's.
struct RequestMedia {
  MediaKey key{};
  MediaShape shape;
  std::shared_ptr<const media::Pixels> pixels;  ///< until it is encoded; none where that is done
  std::shared_ptr<const EncodedMedia> encoded;  ///< none until then
};

/// Where a block's pads stand in a prompt's head.
struct MediaPlace {
  std::shared_ptr<RequestMedia> media;
  size_t block = 0;
  int64_t first = 0;  ///< index of the first pad
};

}  // namespace d3::engine
