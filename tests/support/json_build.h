// tests/support/json_build.h: JSON values built, changed and written as the checkpoints' generator writes
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/value.h"

namespace d3::test {

json::Value number(int64_t value);
/// A number by its text: "1e-06".
json::Value number_text(std::string text);
json::Value string(std::string_view text);
json::Value boolean(bool value);
json::Value object(json::Object members);
json::Value array(json::Array items);

/// The value at a path of keys ("text_config.rope_parameters.rope_theta"); std::out_of_range when it is
/// absent.
json::Value& at_path(json::Value& root, std::string_view path);
/// Sets the value at a path, adding the last key when it is absent.
void set_path(json::Value& root, std::string_view path, json::Value value);
/// Removes the last key of a path; std::out_of_range when it is absent.
void erase_path(json::Value& root, std::string_view path);

/// json.dumps(value, indent=indent) of Python for values of ASCII text. `indent` 0 gives the compact form,
/// separators "," and ":".
std::string dump_json(const json::Value& value, int indent);

}  // namespace d3::test
