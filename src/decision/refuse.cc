#include "decision/refuse.h"

#include "base/error.h"
#include "json/write.h"

namespace d3::decision {

void refuse(const std::string& path, std::string_view reason) {
  std::string message = path;
  if (!path.empty()) message += ": ";
  message += reason;
  throw Error(ErrorCode::kInvalidArgument, std::move(message), path);
}

std::string_view kind_name(const json::Value& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "a boolean";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "a list" : "an object";
}

std::string shown(std::string_view name) {
  constexpr size_t kLongest = 100;
  size_t end = name.size();
  if (end > kLongest) {
    end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80)
      --end;  // not inside a character
  }
  std::string quoted;
  json::append_string(quoted, name.substr(0, end));
  std::string text = quoted.substr(1, quoted.size() - 2);
  if (end < name.size()) text += "…";
  return text;
}

namespace {

[[noreturn]] void refuse_kind(const json::Value& value, const std::string& path, std::string_view wanted) {
  std::string reason = "must be ";
  reason += wanted;
  reason += ", not ";
  reason += kind_name(value);
  refuse(path, reason);
}

}  // namespace

std::string& require_string(json::Value& value, const std::string& path) {
  if (!value.is_string()) refuse_kind(value, path, "a string");
  return value.as_string();
}

json::Array& require_list(json::Value& value, const std::string& path) {
  if (!value.is_array()) refuse_kind(value, path, "a list");
  return value.as_array();
}

json::Object& require_object(json::Value& value, const std::string& path) {
  if (!value.is_object()) refuse_kind(value, path, "an object");
  return value.as_object();
}

json::Object& require_object_body(json::Value& body) {
  if (body.is_object()) return body.as_object();
  std::string reason = "the body must be a JSON object, not ";
  reason += kind_name(body);
  refuse("", reason);
}

std::string& require_text(json::Value& value, const std::string& path) {
  std::string& text = require_string(value, path);
  if (text.empty()) refuse(path, "must not be empty");
  return text;
}

}  // namespace d3::decision
