#include "text/json_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "text/quote.h"

namespace d3::text {

JsonNode JsonNode::parse(simdjson::dom::parser& parser, const simdjson::padded_string& text,
                         std::string file) {
  simdjson::dom::element root;
  if (const auto error = parser.parse(text).get(root))
    throw Error(ErrorCode::kBadCheckpoint,
                fmt::format("{}: not valid JSON: {}", file, simdjson::error_message(error)), file);
  JsonNode node(root, std::move(file), "");
  if (!node.is_object()) node.refuse("not a JSON object");
  return node;
}

void JsonNode::refuse(std::string_view why) const {
  throw Error(ErrorCode::kBadCheckpoint,
              fmt::format("{}: {}{}{}", file_, path_, path_.empty() ? "" : " ", why), file_);
}

std::string_view JsonNode::string() const {
  std::string_view value;
  if (value_.get(value)) refuse("is not a string");
  return value;
}

bool JsonNode::boolean() const {
  bool value = false;
  if (value_.get(value)) refuse("is not true or false");
  return value;
}

int64_t JsonNode::integer() const {
  int64_t value = 0;
  if (value_.get(value)) refuse("is not an integer");
  return value;
}

simdjson::dom::object JsonNode::object() const {
  simdjson::dom::object value;
  if (value_.get(value)) refuse("is not an object");
  return value;
}

simdjson::dom::array JsonNode::array() const {
  simdjson::dom::array value;
  if (value_.get(value)) refuse("is not a list");
  return value;
}

JsonNode JsonNode::at(std::string_view key) const {
  auto found = find(key);
  if (!found) child(value_, key).refuse("is missing");
  return *std::move(found);
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  simdjson::dom::element value;
  if (object().at_key(key).get(value) || value.is_null()) return std::nullopt;
  return child(value, key);
}

bool JsonNode::flag(std::string_view key, bool otherwise) const {
  const auto found = find(key);
  return found ? found->boolean() : otherwise;
}

JsonNode JsonNode::child(simdjson::dom::element value, std::string_view key) const {
  const bool plain =
      key.size() <= 64 && std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
  const std::string shown = plain ? std::string(key) : in_quotes(key);
  return {value, file_, path_.empty() ? shown : fmt::format("{}.{}", path_, shown)};
}

JsonNode JsonNode::child(simdjson::dom::element value, size_t index) const {
  return {value, file_, fmt::format("{}[{}]", path_, index)};
}

}  // namespace d3::text
