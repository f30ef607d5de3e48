// api/api.h: what the bodies of both APIs need to know about the server around them. Everything in this room
// is a pure function between bytes and decision/'s types: no sockets, no headers, no clock, no global state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace d3::api {

/// The one model a server serves.
struct ServedModel {
  /// Names a request's `model` may give, at least one; the first is the model's own name in answers. They are
  /// the served names, or the name or path as typed, and the manifest's repo_id and model_name.
  std::vector<std::string> names;
  int64_t created = 0;                   ///< unix seconds at which the server came up
  std::optional<int64_t> max_model_len;  ///< tokens of one question's prompt; none: not limited
  bool takes_media = false;              ///< images and videos are refused, naming the field, when false
  std::string description;               ///< one line for people, shown by GET /v1/models
};

/// What an answer says beside the answers themselves.
struct ResponseInfo {
  /// The request's id: the answer's `id` is `decision-<request_id>`. A `request_id` in the request's body
  /// wins over it.
  std::string request_id;
  int64_t created = 0;       ///< unix seconds
  int64_t input_tokens = 0;  ///< summed over the questions' whole prompts, as if no prefix were shared
};

}  // namespace d3::api
