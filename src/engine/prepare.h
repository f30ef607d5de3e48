// engine/prepare.h: Request -> token ids. Runs on any thread but the engine's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decision/request.h"
#include "engine/encode.h"
#include "engine/media_loader.h"
#include "engine/media_prompt.h"

namespace d3::engine {

/// A request ready for the executor. Question i's sequence is `head` followed by `tails[i]`.
struct PreparedRequest {
  std::shared_ptr<const decision::Request> request;
  std::vector<int32_t> head;                ///< what all questions share, tokenized once; media included
  std::vector<std::vector<int32_t>> tails;  ///< as many as request->questions, each non-empty
  std::vector<MediaPlace> media = {};       ///< the pads in `head`, in order

  /// Tokens of question i's whole prompt.
  int64_t question_tokens(size_t i) const { return static_cast<int64_t>(head.size() + tails[i].size()); }
  /// Summed over the questions, the head counted for each.
  int64_t total_tokens() const;
};

/// What a Preparer needs for images and videos.
struct MediaParts {
  MediaTokens tokens;
  MediaLoaderOptions options = {};
  VisionCache* cache = nullptr;  ///< as MediaLoader has it
};

/// Renders and tokenizes prompts, fetches and decodes media. Safe to use from many threads at once.
class Preparer {
 public:
  /// codes: the answer codes in order (checkpoint: decision_config.json). max_length: the most tokens one
  /// question's prompt may have. media: none where the model reads no images and videos.
  Preparer(Encode encode, std::vector<std::string> codes, std::optional<int64_t> max_length,
           std::optional<MediaParts> media = std::nullopt);

  std::optional<int64_t> max_length() const { return max_length_; }

  /// Throws Error(kInvalidArgument) with the field `questions.<id>` when a prompt is longer than max_length
  /// (the message names the question, its length and the limit), and what MediaLoader::load throws;
  /// Error(kUnsupported) with the field `images` or `videos` for media that the model does not read. Blocks
  /// while media are fetched.
  PreparedRequest prepare(std::shared_ptr<const decision::Request> request) const;

  /// The prompt of one question as text, as `d3 prompt` shows it: one pad for each image and video.
  std::string prompt_text(const decision::Request& request, size_t question) const;

 private:
  void check_lengths(const PreparedRequest& prepared) const;
  void add_media(PreparedRequest& prepared) const;

  Encode encode_;
  std::vector<std::string> codes_;
  std::optional<int64_t> max_length_;
  MediaTokens media_tokens_;
  std::unique_ptr<const MediaLoader> media_loader_;  // none where the model reads no media
};

}  // namespace d3::engine
