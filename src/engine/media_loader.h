// engine/media_loader.h: a request's images and videos, fetched and decoded. Runs on the threads that prepare
// requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "decision/request.h"
#include "engine/request_media.h"
#include "engine/vision_cache.h"
#include "media/fetch.h"
#include "media/media.h"

namespace d3::engine {

struct MediaLoaderOptions {
  media::MediaOptions media = {};
  media::FetchOptions fetch = {};
  size_t max_items = 128;             ///< images and videos of one request
  int64_t max_video_tokens = 16'384;  ///< of one request's videos
  double max_request_seconds = 60;    ///< of CPU time to decode one request's media
  /// Decoded pixels of all requests that wait for the vision tower; beyond, requests are refused
  /// (kOverloaded).
  int64_t max_waiting_bytes = int64_t{1} << 30;
  int threads = 4;  ///< that fetch and decode one request's media at the same time
};

/// Any number of threads may load at once.
class MediaLoader {
 public:
  /// cache: where features may be already; may be null, else outlives the loader.
  MediaLoader(MediaLoaderOptions options, VisionCache* cache);

  /// The request's images, then its videos, the same object for the same bytes. Throws
  /// Error(kInvalidArgument) naming the item (`images[0]`) that is at fault, the first such in the request
  /// where it matters which, and Error(kOverloaded).
  std::vector<std::shared_ptr<RequestMedia>> load(const decision::Request& request) const;

 private:
  class Batch;

  std::shared_ptr<const media::Pixels> hold(media::Pixels pixels) const;

  const MediaLoaderOptions options_;
  const media::MediaFetcher fetcher_;
  VisionCache* const cache_;
  const std::shared_ptr<std::atomic<int64_t>> waiting_bytes_;  // shared with the pixels that are out
};

}  // namespace d3::engine
