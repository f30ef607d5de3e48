// decision/refuse.h: how validation says no; shared with the API that validates another shape
// (api/decisions).
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace d3::decision {

/// Throws Error(kInvalidArgument, "<path>: <reason>", path); with an empty path the reason alone.
[[noreturn]] void refuse(const std::string& path, std::string_view reason);

/// "null", "a boolean", "a number", "a string", "a list" or "an object".
std::string_view kind_name(const json::Value& value);

/// A client's own name (a question's id, a field) as a path or message shows it: on one line, controls
/// escaped as JSON does, and cut with "…" after some 100 bytes.
std::string shown(std::string_view name);

/// The value as its type, or a refusal that says what it is instead.
std::string& require_string(json::Value& value, const std::string& path);
json::Array& require_list(json::Value& value, const std::string& path);
json::Object& require_object(json::Value& value, const std::string& path);

/// The members of a request's body; the refusal has no path.
json::Object& require_object_body(json::Value& body);

/// A string that is not empty.
std::string& require_text(json::Value& value, const std::string& path);

}  // namespace d3::decision
