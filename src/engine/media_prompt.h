// engine/media_prompt.h: the pad tokens of a prompt, one for each token of its media.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "checkpoint/config.h"
#include "engine/encode.h"
#include "engine/request_media.h"

namespace d3::engine {

/// The ids of the tokens that stand for media (config.json).
struct MediaTokens {
  int32_t image_pad = -1;
  int32_t video_pad = -1;
  int32_t vision_start = -1;
  int32_t vision_end = -1;
};

MediaTokens media_tokens(const checkpoint::Config& config);

struct ExpandedHead {
  std::vector<int32_t> ids;
  std::vector<MediaPlace> places;  ///< in order
};

/// A prompt's head with its media in it. `media` are the request's, images before videos: the nth pad of
/// `head` stands for the nth. An image's pad is repeated for each of its tokens; in place of a video's come,
/// for each pair of frames, `<T seconds>` with one decimal, vision_start, the pads, vision_end. Throws
/// Error(kInternal) when pads and media do not match.
ExpandedHead expand_media(std::span<const int32_t> head, std::span<const std::shared_ptr<RequestMedia>> media,
                          const MediaTokens& tokens, const Encode& encode);

}  // namespace d3::engine
