// api/systemone.h: the bodies of POST /v1/systemone (contract, section 4).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/api.h"
#include "decision/request.h"

namespace d3::api {

/// The validated request of a body. Throws Error: kInvalidArgument for anything that breaks a rule of the
/// contract's section 2 (field() is the path at fault, empty when the body is no JSON object), kNotFound for
/// a `model` that is not served, kUnsupported for media given to a model that takes none. Prompt lengths are
/// not known here: the engine checks them.
decision::Request parse_systemone(std::string_view body, const ServedModel& model);

/// The body of the 200 answer. answers[i] belongs to request.questions[i].
std::string write_systemone(const decision::Request& request, std::span<const decision::Answer> answers,
                            const ServedModel& model, const ResponseInfo& info);

}  // namespace d3::api
