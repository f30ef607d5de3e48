// text/json_reader.h: reading checked values out of the tokenizer's JSON files, with errors that name file
// and key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace d3::text {

/// A value of a JSON file and where it is, "tokenizer.json: model.vocab". The parser that made it must
/// outlive it.
class JsonNode {
 public:
  JsonNode(simdjson::dom::element value, std::string file, std::string path)
      : value_(value), file_(std::move(file)), path_(std::move(path)) {}

  /// Parses a whole file's text; throws Error(kBadCheckpoint) naming `file` when it is no JSON object.
  static JsonNode parse(simdjson::dom::parser& parser, const simdjson::padded_string& text, std::string file);

  /// Throws Error(kBadCheckpoint): "FILE: PATH WHY", or "FILE: WHY" at the top.
  [[noreturn]] void refuse(std::string_view why) const;

  bool is_null() const { return value_.is_null(); }
  bool is_string() const { return value_.is_string(); }
  bool is_object() const { return value_.is_object(); }
  bool is_array() const { return value_.is_array(); }
  bool is_bool() const { return value_.is_bool(); }

  /// The value as its type; refuses another.
  std::string_view string() const;
  bool boolean() const;
  int64_t integer() const;
  simdjson::dom::object object() const;
  simdjson::dom::array array() const;

  /// A member that must be there, or that may be missing (a null counts as missing).
  JsonNode at(std::string_view key) const;
  std::optional<JsonNode> find(std::string_view key) const;
  bool flag(std::string_view key, bool otherwise) const;

  /// An element or member with its place.
  JsonNode child(simdjson::dom::element value, std::string_view key) const;
  JsonNode child(simdjson::dom::element value, size_t index) const;

 private:
  simdjson::dom::element value_;
  std::string file_, path_;
};

}  // namespace d3::text
