// decision/validation.h: JSON -> Request; every rule of the contract's section 2 that does not need a
// tokenizer or a served model. Nothing is truncated or guessed: what breaks a rule is refused with the path
// of the field.
#pragma once

#include <string>
#include <string_view>

#include "decision/request.h"
#include "json/value.h"

namespace d3::decision {

inline constexpr size_t kMaxQuestions = 64;
inline constexpr size_t kMaxOptions = 255;
inline constexpr size_t kMinLevels = 2;
inline constexpr size_t kMaxLevels = 10;

/// A body in the shape of POST /v1/systemone as a Request. A field whose value is null counts as absent, but
/// for `state`, which must be there and may be null. Throws Error(kInvalidArgument); field() is the path at
/// fault
/// ("questions.route.criteria", "images[0]") and the message begins with it.
/// Whether `model` is served is not checked here.
Request parse_request(json::Value body);

/// One question of such a body; `id` names it in paths.
Question parse_question(std::string id, const json::Value& value);

enum class MediaKind { kImage, kVideo };

/// Refuses anything but an http(s) URL or a base64 data URL of the kind; the message names `path`.
void check_media_url(std::string_view url, MediaKind kind, const std::string& path);

/// With media in a request, `<|image_pad|>` and `<|video_pad|>` may stand nowhere in its texts: they would be
/// taken for the media's own places. Throws naming the question.
void check_media_placeholders(const Request& request);

}  // namespace d3::decision
