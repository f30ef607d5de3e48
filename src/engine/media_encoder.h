// engine/media_encoder.h: the vision tower in front of a batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/request_media.h"
#include "engine/vision_cache.h"
#include "model/batch.h"
#include "model/executor.h"

namespace d3::engine {

/// Gives media their features, from the cache or by the executor. For the engine's thread alone.
class MediaEncoder {
 public:
  /// Both outlive the encoder.
  MediaEncoder(model::Executor& executor, VisionCache& cache) : executor_(executor), cache_(cache) {}

  /// Sets `encoded` and drops the pixels of each; the same bytes go through the tower once. Throws what the
  /// executor throws, Error(kInternal) for features of the wrong size.
  void encode(std::vector<RequestMedia*> media);

 private:
  void encode_some(std::span<RequestMedia* const> media);

  model::Executor& executor_;
  VisionCache& cache_;
};

/// Where a head's pads take their features from; they must be encoded, and live as long as the blocks are
/// used.
std::vector<model::MediaBlock> media_blocks(std::span<const MediaPlace> places);

}  // namespace d3::engine
