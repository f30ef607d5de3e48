// json/value.h: a JSON value as the contract needs it: members in source order, numbers as they were written.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace d3::json {

class Value;
struct Member;

/// A number's source text, valid by RFC 8259 ("-0", "1e5", an integer of any length).
struct Number {
  std::string text;
  bool operator==(const Number&) const = default;
};

using Array = std::vector<Value>;
/// Members in order. A repeated key keeps its first place and its last value, as Python's json.loads does.
using Object = std::vector<Member>;

/// A parsed JSON value. Strings are valid UTF-8.
class Value {
 public:
  Value();  ///< null
  explicit Value(bool value);
  explicit Value(Number value);
  explicit Value(std::string value);
  explicit Value(Array value);
  explicit Value(Object value);

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_number() const { return std::holds_alternative<Number>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }

  /// The value as its type; std::bad_variant_access when it is another.
  bool as_bool() const { return std::get<bool>(data_); }
  const Number& as_number() const { return std::get<Number>(data_); }
  const std::string& as_string() const { return std::get<std::string>(data_); }
  const Array& as_array() const { return std::get<Array>(data_); }
  const Object& as_object() const { return std::get<Object>(data_); }

  /// The same, to change or move from.
  std::string& as_string() { return std::get<std::string>(data_); }
  Array& as_array() { return std::get<Array>(data_); }
  Object& as_object() { return std::get<Object>(data_); }

  /// The member's value, or nullptr when this is no object or has no such key.
  const Value* find(std::string_view key) const;

 private:
  std::variant<std::monostate, bool, Number, std::string, Array, Object> data_;
};

struct Member {
  std::string key;
  Value value;
};

// Here because a variant of Object needs Member to be whole.
inline Value::Value() = default;
inline Value::Value(bool value) : data_(value) {}
inline Value::Value(Number value) : data_(std::move(value)) {}
inline Value::Value(std::string value) : data_(std::move(value)) {}
inline Value::Value(Array value) : data_(std::move(value)) {}
inline Value::Value(Object value) : data_(std::move(value)) {}

inline const Value* Value::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const Member& member : as_object())
    if (member.key == key) return &member.value;
  return nullptr;
}

}  // namespace d3::json
