#include "engine/vision_cache.h"

#include <utility>

namespace d3::engine {

std::shared_ptr<const EncodedMedia> VisionCache::find(const MediaKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  ++hits_;
  entries_.splice(entries_.begin(), entries_, found->second);
  return entries_.front().media;
}

void VisionCache::add(const MediaKey& key, std::shared_ptr<const EncodedMedia> media) {
  const std::lock_guard lock(mutex_);
  ++misses_;
  if (media->bytes() > max_bytes_ || by_key_.contains(key)) return;
  bytes_ += media->bytes();
  entries_.push_front({.key = key, .media = std::move(media)});
  by_key_.emplace(key, entries_.begin());
  while (bytes_ > max_bytes_) {
    bytes_ -= entries_.back().media->bytes();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

VisionCache::Counters VisionCache::counters() const {
  const std::lock_guard lock(mutex_);
  return {.hits = hits_, .misses = misses_, .entries = entries_.size(), .bytes = bytes_};
}

}  // namespace d3::engine
