// engine/vision_cache.h: what the vision tower made of images and videos lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "engine/request_media.h"

namespace d3::engine {

/// Keeps the entries used last, up to a number of bytes. All members may be called from any thread.
class VisionCache {
 public:
  struct Counters {
    uint64_t hits = 0;    ///< images and videos of requests whose features were here
    uint64_t misses = 0;  ///< those that went through the vision tower
    size_t entries = 0;
    size_t bytes = 0;
  };

  /// 0 bytes: nothing is kept.
  explicit VisionCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// None when it is not here; what is here counts as a hit and as used last.
  std::shared_ptr<const EncodedMedia> find(const MediaKey& key);

  /// Counts a miss. An entry larger than the cache is not kept.
  void add(const MediaKey& key, std::shared_ptr<const EncodedMedia> media);

  Counters counters() const;

 private:
  struct Entry {
    MediaKey key;
    std::shared_ptr<const EncodedMedia> media;
  };

  const size_t max_bytes_;
  mutable std::mutex mutex_;  // guards all below
  std::list<Entry> entries_;  // the one used last in front
  std::map<MediaKey, std::list<Entry>::iterator> by_key_;
  size_t bytes_ = 0;
  uint64_t hits_ = 0;
  uint64_t misses_ = 0;
};

}  // namespace d3::engine
