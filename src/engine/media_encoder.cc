#include "engine/media_encoder.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace d3::engine {
namespace {

// One pass of the tower takes at most these many tokens' patches, or a single image or video: what it needs
// of memory grows with them.
constexpr int64_t kMaxTokensAtOnce = 4096;

std::shared_ptr<const EncodedMedia> encoded_media(const MediaShape& shape, model::MediaFeatures features) {
  const auto tokens = static_cast<size_t>(shape.tokens());
  if (features.empty() || features.size() % tokens != 0)
    throw Error(ErrorCode::kInternal, "it returned media features of the wrong size");
  return std::make_shared<const EncodedMedia>(EncodedMedia{.shape = shape, .features = std::move(features)});
}

}  // namespace

void MediaEncoder::encode(std::vector<RequestMedia*> media) {
  std::map<MediaKey, RequestMedia*> to_encode;  // each content once
  std::vector<RequestMedia*> others;            // of the same content as one of those
  for (RequestMedia* medium : media) {
    if (medium->encoded) continue;
    const auto known = to_encode.find(medium->key);
    if (known != to_encode.end()) {
      if (known->second != medium) others.push_back(medium);
    } else if (auto found = cache_.find(medium->key)) {
      medium->encoded = std::move(found);  // another request has brought it since this one was prepared
      medium->pixels.reset();
    } else {
      to_encode.emplace(medium->key, medium);
    }
  }
  std::vector<RequestMedia*> some;
  int64_t tokens = 0;
  for (const auto& [key, medium] : to_encode) {
    if (!some.empty() && tokens + medium->shape.tokens() > kMaxTokensAtOnce) {
      encode_some(some);
      some.clear();
      tokens = 0;
    }
    some.push_back(medium);
    tokens += medium->shape.tokens();
  }
  if (!some.empty()) encode_some(some);
  for (RequestMedia* medium : others) {
    medium->encoded = to_encode.at(medium->key)->encoded;
    medium->pixels.reset();
  }
}

void MediaEncoder::encode_some(std::span<RequestMedia* const> media) {
  std::vector<const media::Pixels*> pixels;
  for (const RequestMedia* medium : media) pixels.push_back(medium->pixels.get());
  std::vector<model::MediaFeatures> features = executor_.encode_media(pixels);
  if (features.size() != media.size())
    throw Error(ErrorCode::kInternal, "it returned features of other media than it was given");
  for (size_t i = 0; i < media.size(); ++i) {
    media[i]->encoded = encoded_media(media[i]->shape, std::move(features[i]));
    media[i]->pixels.reset();
    cache_.add(media[i]->key, media[i]->encoded);
  }
}

std::vector<model::MediaBlock> media_blocks(std::span<const MediaPlace> places) {
  std::vector<model::MediaBlock> blocks;
  blocks.reserve(places.size());
  for (const MediaPlace& place : places) {
    const MediaShape& shape = place.media->shape;
    const model::MediaFeatures& features = place.media->encoded->features;
    const size_t block_size = features.size() / shape.blocks();
    blocks.push_back({.first = place.first,
                      .rows = shape.rows,
                      .columns = shape.columns,
                      .features = features.data() + place.block * block_size});
  }
  return blocks;
}

}  // namespace d3::engine
