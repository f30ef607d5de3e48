// decision/validation.h: JSON -> Request; every rule of the contract's section 2 that needs neither a
// tokenizer nor a served model. Nothing is truncated or guessed: what breaks a rule is refused with the path
// of the field.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "decision/request.h"
#include "json/value.h"

namespace d3::decision {

inline constexpr size_t kMaxQuestions = 64;
inline constexpr size_t kMaxOptions = 255;
inline constexpr size_t kMinLevels = 2;
inline constexpr size_t kMaxLevels = 10;

// What stands in the prompt for a state and for instructions that are empty.
inline constexpr std::string_view kEmptyState = "(empty)";
inline constexpr std::string_view kDefaultInstructions = "Choose the best matching option.";

/// A body in the shape of POST /v1/systemone as a Request. A field whose value is null counts as absent, but
/// for `state`, which must be there and may be null, and `questions`. Throws Error(kInvalidArgument); field()
/// is the path at fault ("questions.route.criteria", "images[0]") and the message begins with it. Whether
/// `model` is served is not checked here.
Request parse_request(json::Value body);

/// The names of its fields.
std::vector<std::string_view> request_fields();

/// One question of such a body. `id` must not be empty; paths are `questions.<id>...`.
Question parse_question(std::string id, json::Value value);

/// The path of a question, `questions.<id>`.
std::string question_path(std::string_view id);

/// The options of a noul whose criteria say nothing: false, then true.
std::vector<Option> noul_options();

/// Refuses, naming `path`, a number of levels outside 2..10.
void check_level_count(size_t count, const std::string& path);

/// The options of a score whose levels have these texts: keys "0", "1", .. Refuses, naming `path`, texts that
/// are empty or equal.
std::vector<Option> level_options(std::vector<std::string> texts, const std::string& path);

enum class MediaKind { kImage, kVideo };

/// Refuses anything but an http(s) URL or a base64 data URL of the kind; the message names `path`.
void check_media_url(std::string_view url, MediaKind kind, const std::string& path);

/// With media in a request, `<|image_pad|>` and `<|video_pad|>` may stand nowhere in its texts: they would be
/// taken for the media's own places. Throws naming the first question whose prompt has one.
void check_media_placeholders(const Request& request);

}  // namespace d3::decision
