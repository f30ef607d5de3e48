// json/render.h: JSON text as Python's json.dumps writes it, which is how values enter the prompt.
#pragma once

#include <string>

#include "json/value.h"

namespace d3::json {

/// json.dumps(value, ensure_ascii=False): ", " and ": ", members in order, integers digit for digit ("-0" is
/// "0"), floats as Python's repr. Throws Error(kInvalidArgument) for a float beyond the largest double (parse
/// never gives one).
std::string render(const Value& value);
void append_rendered(std::string& out, const Value& value);

/// json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")): members sorted by code
/// point.
std::string render_sorted(const Value& value);

}  // namespace d3::json
