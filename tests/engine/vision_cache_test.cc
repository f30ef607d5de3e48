#include "engine/vision_cache.h"

#include <gtest/gtest.h>

namespace d3::engine {
namespace {

MediaKey key(uint8_t name) {
  MediaKey key{};
  key[0] = name;
  return key;
}

std::shared_ptr<const EncodedMedia> media(size_t features) {
  auto media = std::make_shared<EncodedMedia>();
  media->shape.rows = media->shape.columns = 1;
  media->features.resize(features);
  return media;
}

TEST(VisionCache, KeepsWhatWasUsedLast) {
  VisionCache cache(3 * media(100)->bytes());
  for (uint8_t name = 1; name <= 3; ++name) cache.add(key(name), media(100));
  EXPECT_NE(cache.find(key(1)), nullptr);
  cache.add(key(4), media(100));
  EXPECT_EQ(cache.find(key(2)), nullptr);
  for (const uint8_t name : {1, 3, 4}) EXPECT_NE(cache.find(key(name)), nullptr) << int{name};
  const auto counters = cache.counters();
  EXPECT_EQ(counters.hits, 4U);
  EXPECT_EQ(counters.misses, 4U);
  EXPECT_EQ(counters.entries, 3U);
  EXPECT_EQ(counters.bytes, 3 * media(100)->bytes());
}

TEST(VisionCache, GivesTheVeryEntry) {
  VisionCache cache(1 << 20);
  const auto entry = media(5);
  cache.add(key(1), entry);
  cache.add(key(1), media(5));  // the first stays
  EXPECT_EQ(cache.find(key(1)), entry);
  EXPECT_EQ(cache.counters().entries, 1U);
  EXPECT_EQ(cache.counters().misses, 2U);
}

TEST(VisionCache, KeepsNothingLargerThanItself) {
  VisionCache cache(media(100)->bytes());
  cache.add(key(1), media(100));
  cache.add(key(2), media(101));
  EXPECT_NE(cache.find(key(1)), nullptr);
  EXPECT_EQ(cache.find(key(2)), nullptr);
  VisionCache off(0);
  off.add(key(1), media(1));
  EXPECT_EQ(off.find(key(1)), nullptr);
  EXPECT_EQ(off.counters().misses, 1U);
}

TEST(VisionCache, AnEntryOutlivesItsPlace) {
  VisionCache cache(media(10)->bytes());
  cache.add(key(1), media(10));
  const auto held = cache.find(key(1));
  cache.add(key(2), media(10));
  EXPECT_EQ(cache.find(key(1)), nullptr);
  EXPECT_EQ(held->features.size(), 10U);
}

}  // namespace
}  // namespace d3::engine
