#include "engine/media_prompt.h"

#include <fmt/format.h>

#include "base/error.h"

namespace d3::engine {
namespace {

void add_pads(ExpandedHead& head, const std::shared_ptr<RequestMedia>& media, size_t block, int32_t pad) {
  head.places.push_back({.media = media, .block = block, .first = static_cast<int64_t>(head.ids.size())});
  head.ids.insert(head.ids.end(), static_cast<size_t>(media->shape.block_tokens()), pad);
}

void add_video(ExpandedHead& head, const std::shared_ptr<RequestMedia>& video, const MediaTokens& tokens,
               const Encode& encode) {
  for (size_t block = 0; block < video->shape.blocks(); ++block) {
    // Between special tokens a text has the ids that it has alone.
    const std::vector<int32_t> time =
        encode(fmt::format("<{:.1f} seconds>", video->shape.pair_seconds[block]));
    head.ids.insert(head.ids.end(), time.begin(), time.end());
    head.ids.push_back(tokens.vision_start);
    add_pads(head, video, block, tokens.video_pad);
    head.ids.push_back(tokens.vision_end);
  }
}

}  // namespace

MediaTokens media_tokens(const checkpoint::Config& config) {
  return {.image_pad = config.image_token_id,
          .video_pad = config.video_token_id,
          .vision_start = config.vision_start_token_id,
          .vision_end = config.vision_end_token_id};
}

ExpandedHead expand_media(std::span<const int32_t> head, std::span<const std::shared_ptr<RequestMedia>> media,
                          const MediaTokens& tokens, const Encode& encode) {
  ExpandedHead expanded;
  size_t next = 0;
  for (const int32_t id : head) {
    const bool is_pad = id == tokens.image_pad || id == tokens.video_pad;
    if (!is_pad) {
      expanded.ids.push_back(id);
      continue;
    }
    if (next == media.size() || media[next]->shape.is_video() != (id == tokens.video_pad))
      throw Error(ErrorCode::kInternal, "the prompt's media tokens are not those of its media");
    const std::shared_ptr<RequestMedia>& medium = media[next++];
    if (medium->shape.is_video())
      add_video(expanded, medium, tokens, encode);
    else
      add_pads(expanded, medium, 0, id);
  }
  if (next != media.size())
    throw Error(ErrorCode::kInternal, "the prompt's media tokens are not those of its media");
  return expanded;
}

}  // namespace d3::engine
