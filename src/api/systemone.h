// api/systemone.h: the bodies of POST /v1/systemone (contract, section 4).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/api.h"
#include "decision/request.h"

namespace d3::api {

/// The name that typesafe-sdk sends for `model` when its user names none: it means the model that is served.
inline constexpr std::string_view kSdkDefaultModel = "jev-latest";

/// The validated request of a body whose header `content-type` is `content_type`: JSON, or for
/// multipart/form-data the part `request` with the JSON and one part for each of its assets (api/assets.h).
/// Throws Error: kInvalidArgument for anything that breaks a rule of the contract's section 2 (field() is the
/// path at fault, empty when the body is no JSON object), kNotFound for a `model` that is not served,
/// kUnsupported for media given to a model that takes none. Prompt lengths are not known here: the engine
/// checks them.
decision::Request parse_systemone(std::string_view body, const ServedModel& model,
                                  std::string_view content_type = "application/json");

/// The body of the 200 answer. answers[i] belongs to request.questions[i].
std::string write_systemone(const decision::Request& request, std::span<const decision::Answer> answers,
                            const ServedModel& model, const ResponseInfo& info);

}  // namespace d3::api
