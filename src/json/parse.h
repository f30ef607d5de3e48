// json/parse.h: bytes -> Value.
#pragma once

#include <cstddef>
#include <string_view>

#include "json/value.h"

namespace d3::json {

/// A value costs up to some 80 bytes of memory and may be two bytes of text; a text of more values than this
/// is refused before they are all held. It is far beyond what any prompt can hold: each value is a token or
/// more.
inline constexpr size_t kMaxValues = 2'000'000;

/// Parses one JSON text (RFC 8259, nothing else: no NaN, no comments, no trailing bytes; valid UTF-8, no lone
/// surrogate escapes; at most `max_depth` nested arrays and objects and kMaxValues values). Floats beyond the
/// range of a double are refused, integers of any length are kept. Time is linear in the text but for
/// objects, whose many keys are sorted. Throws Error(kInvalidArgument) whose message says what is wrong and
/// at which byte where that is known.
Value parse(std::string_view text, int max_depth = 256);

}  // namespace d3::json
