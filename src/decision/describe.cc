#include "decision/describe.h"

#include <utility>

#include "json/number.h"
#include "json/render.h"

namespace d3::decision {

std::string describe(const json::Value& value) {
  return value.is_string() ? value.as_string() : json::render(value);
}

std::string describe(json::Value&& value) {
  return value.is_string() ? std::move(value.as_string()) : json::render(value);
}

bool is_truthy(const json::Value& value) {
  if (value.is_null()) return false;
  if (value.is_bool()) return value.as_bool();
  if (value.is_number()) return !json::is_zero(value.as_number());
  if (value.is_string()) return !value.as_string().empty();
  return value.is_array() ? !value.as_array().empty() : !value.as_object().empty();
}

}  // namespace d3::decision
