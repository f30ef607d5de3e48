// library/convert.h: the C++ API's requests as the program's, and its answers back.
#pragma once

#include <memory>
#include <vector>

#include "d3/answer.h"
#include "d3/request.h"
#include "decision/request.h"
#include "engine/engine.h"

namespace d3::library {

/// Checks a request by the rules of decision/validation.h and reads its files. Throws Error: kInvalidArgument
/// with the path of the part at fault, as the HTTP API names it; kNotFound for a file that cannot be read.
std::shared_ptr<const decision::Request> validated(Request request);

/// The outcome of a request without an error.
Reply reply_of(const decision::Request& request, const engine::Outcome& outcome, int64_t input_tokens);

}  // namespace d3::library
