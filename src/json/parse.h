// json/parse.h: bytes -> Value.
#pragma once

#include <string_view>

#include "json/value.h"

namespace d3::json {

/// Parses one JSON text (RFC 8259, nothing else: no NaN, no comments, no trailing bytes; valid UTF-8, no lone
/// surrogate escapes; at most `max_depth` nested arrays and objects). Linear in time and memory.
/// Throws Error(kInvalidArgument) whose message says what is wrong and at which byte where that is known.
Value parse(std::string_view text, int max_depth = 256);

}  // namespace d3::json
