// decision/describe.h: how a JSON value becomes text of the prompt, and when a default stands in for it.
#pragma once

#include <string>

#include "json/value.h"

namespace d3::decision {

/// A string as it is, anything else as json::render.
std::string describe(const json::Value& value);
std::string describe(json::Value&& value);  ///< moves a string out

/// What Python's `value or default` tests: false for null, false, "", [], {} and zero (0, -0, 0.0, 1e-400).
bool is_truthy(const json::Value& value);

}  // namespace d3::decision
