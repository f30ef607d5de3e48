#include "checkpoint/fields.h"

#include <fmt/format.h>

#include "checkpoint/messages.h"
#include "json/number.h"
#include "json/parse.h"

namespace d3::checkpoint {
namespace {

/// The value as an integer of [min, max], none when it is another thing.
std::optional<int> as_integer(const json::Value& value, int min, int max) {
  if (!value.is_number()) return std::nullopt;
  const std::optional<int64_t> number = json::to_int64(value.as_number());
  if (!number || *number < min || *number > max) return std::nullopt;
  return static_cast<int>(*number);
}

std::string integer_range(int min, int max) { return fmt::format("an integer from {} to {}", min, max); }

}  // namespace

json::Value parse_object(std::string_view text, const std::filesystem::path& file) {
  json::Value value;
  try {
    value = json::parse(text);
  } catch (const Error& error) {
    throw bad_file(file, error.what());
  }
  if (!value.is_object()) throw bad_file(file, "is not a JSON object");
  return value;
}

const json::Value* Fields::find(std::string_view key) const {
  const json::Value* value = object_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const json::Value& Fields::at(std::string_view key) const {
  const json::Value* value = find(key);
  if (value == nullptr) throw error(key, "is missing");
  return *value;
}

int Fields::integer(std::string_view key, int min, int max) const {
  const std::optional<int> value = as_integer(at(key), min, max);
  if (!value) throw unexpected(key, integer_range(min, max));
  return *value;
}

int Fields::integer_or(std::string_view key, int fallback, int min, int max) const {
  return find(key) == nullptr ? fallback : integer(key, min, max);
}

double Fields::number(std::string_view key) const {
  const json::Value& value = at(key);
  const std::optional<double> number = value.is_number() ? json::to_double(value.as_number()) : std::nullopt;
  if (!number) throw unexpected(key, "a number");
  return *number;
}

double Fields::number_or(std::string_view key, double fallback) const {
  return find(key) == nullptr ? fallback : number(key);
}

const std::string& Fields::text(std::string_view key) const {
  const json::Value& value = at(key);
  if (!value.is_string()) throw unexpected(key, "a string");
  return value.as_string();
}

std::string Fields::text_or(std::string_view key, std::string_view fallback) const {
  return find(key) == nullptr ? std::string(fallback) : text(key);
}

bool Fields::boolean_or(std::string_view key, bool fallback) const {
  const json::Value* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_bool()) throw unexpected(key, "true or false");
  return value->as_bool();
}

const json::Array& Fields::array(std::string_view key) const {
  const json::Value& value = at(key);
  if (!value.is_array()) throw unexpected(key, "an array");
  return value.as_array();
}

std::vector<int> Fields::integers(std::string_view key, int min, int max) const {
  std::vector<int> numbers;
  for (const json::Value& item : array(key)) {
    const std::optional<int> value = as_integer(item, min, max);
    if (!value)
      throw error(fmt::format("{}[{}]", key, numbers.size()),
                  fmt::format("is {}; expected {}", shown(item), integer_range(min, max)));
    numbers.push_back(*value);
  }
  return numbers;
}

Fields Fields::object(std::string_view key) const {
  const json::Value& value = at(key);
  if (!value.is_object()) throw unexpected(key, "an object");
  return {value, *file_, path_of(key)};
}

std::optional<Fields> Fields::object_if_present(std::string_view key) const {
  if (find(key) == nullptr) return std::nullopt;
  return object(key);
}

Error Fields::error(std::string_view key, const std::string& message) const {
  return bad_key(ErrorCode::kBadCheckpoint, *file_, path_of(key), message);
}

Error Fields::unexpected(std::string_view key, std::string_view expected) const {
  return error(key, fmt::format("is {}; expected {}", shown(at(key)), expected));
}

Error Fields::unsupported(std::string_view key, std::string_view supported) const {
  return bad_key(ErrorCode::kUnsupported, *file_, path_of(key),
                 fmt::format("is {}, which is unsupported; supported: {}", shown(at(key)), supported));
}

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

}  // namespace d3::checkpoint
