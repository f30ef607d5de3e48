// engine/prepare.h: Request -> token ids. Runs on any thread but the engine's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decision/request.h"

namespace d3::engine {

/// A request ready for the executor. Question i's sequence is `head` followed by `tails[i]`.
struct PreparedRequest {
  std::shared_ptr<const decision::Request> request;
  std::vector<int32_t> head;                ///< what all questions share, tokenized once
  std::vector<std::vector<int32_t>> tails;  ///< as many as request->questions, each non-empty

  /// Tokens of question i's whole prompt.
  int64_t question_tokens(size_t i) const { return static_cast<int64_t>(head.size() + tails[i].size()); }
  /// Summed over the questions, the head counted for each.
  int64_t total_tokens() const;
};

/// UTF-8 -> token ids; called from many threads at once. In the program it is text::Tokenizer::encode.
using Encode = std::function<std::vector<int32_t>(std::string_view)>;

/// Renders and tokenizes prompts. Immutable, safe to use from many threads at once.
class Preparer {
 public:
  /// codes: the answer codes in order (checkpoint: decision_config.json). max_length: the most tokens one
  /// question's prompt may have.
  Preparer(Encode encode, std::vector<std::string> codes, std::optional<int64_t> max_length);

  std::optional<int64_t> max_length() const { return max_length_; }

  /// Throws Error(kInvalidArgument) with the field `questions.<id>` when a prompt is longer than max_length
  /// (the message names the question, its length and the limit), and with the field `images` or `videos` for
  /// a request with media, which this engine does not read.
  PreparedRequest prepare(std::shared_ptr<const decision::Request> request) const;

  /// The prompt of one question as text, as `d3 prompt` shows it.
  std::string prompt_text(const decision::Request& request, size_t question) const;

 private:
  void check_length(const decision::Question& question, size_t tokens) const;

  Encode encode_;
  std::vector<std::string> codes_;
  std::optional<int64_t> max_length_;
};

}  // namespace d3::engine
