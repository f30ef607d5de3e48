// api/models.h: the served model's names, and the bodies of the routes that only tell (contract, section 6).
#pragma once

#include <string>
#include <string_view>

#include "api/api.h"
#include "decision/request.h"

namespace d3::api {

/// Refuses a request for a model that is not served (Error(kNotFound), field "model"; an absent or empty name
/// is any model) or for media where the model takes none (Error(kUnsupported), field "images" or "videos").
void check_served(const decision::Request& request, const ServedModel& model);

/// The name an answer gives: the one the request used, else the model's own.
const std::string& answering_name(const decision::Request& request, const ServedModel& model);

/// GET /v1/models: one object with OpenAI's `object` and `data` and typesafe-sdk's `models`, an entry in each
/// for every name.
std::string write_models(const ServedModel& model);

/// GET /version: {"version":"0.1.0"}.
std::string write_version(std::string_view version);

/// GET /health when ready. Before that (and while draining) the reply is an Error(kUnavailable) whose message
/// is the reason, as make_error_reply writes it.
std::string write_health();

}  // namespace d3::api
