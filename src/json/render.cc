#include "json/render.h"

#include <algorithm>

#include "base/error.h"
#include "json/number.h"
#include "json/write.h"

namespace d3::json {
namespace {

/// json.dumps's two spellings that the contract uses.
struct Style {
  std::string_view comma;
  std::string_view colon;
  bool sort_keys;
};
constexpr Style kPlain{", ", ": ", false};
constexpr Style kSortedCompact{",", ":", true};

void append_number(std::string& out, const Number& number) {
  if (is_integer(number)) {
    out += number.text == "-0" ? "0" : number.text;
    return;
  }
  const std::optional<double> value = to_double(number);
  if (!value) throw Error(ErrorCode::kInvalidArgument, "a number is beyond the range of a double");
  append_double(out, *value);
}

void append_value(std::string& out, const Value& value, const Style& style);

void append_array(std::string& out, const Array& array, const Style& style) {
  out += '[';
  for (size_t i = 0; i < array.size(); ++i) {
    if (i > 0) out += style.comma;
    append_value(out, array[i], style);
  }
  out += ']';
}

void append_member(std::string& out, const Member& member, const Style& style) {
  append_string(out, member.key);
  out += style.colon;
  append_value(out, member.value, style);
}

void append_object(std::string& out, const Object& object, const Style& style) {
  out += '{';
  if (style.sort_keys) {
    std::vector<const Member*> sorted;
    sorted.reserve(object.size());
    for (const Member& member : object) sorted.push_back(&member);
    // Python compares code points; UTF-8's bytes are in the same order.
    std::ranges::sort(sorted, {}, [](const Member* member) { return std::string_view(member->key); });
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i > 0) out += style.comma;
      append_member(out, *sorted[i], style);
    }
  } else {
    for (size_t i = 0; i < object.size(); ++i) {
      if (i > 0) out += style.comma;
      append_member(out, object[i], style);
    }
  }
  out += '}';
}

void append_value(std::string& out, const Value& value, const Style& style) {
  if (value.is_null())
    out += "null";
  else if (value.is_bool())
    out += value.as_bool() ? "true" : "false";
  else if (value.is_number())
    append_number(out, value.as_number());
  else if (value.is_string())
    append_string(out, value.as_string());
  else if (value.is_array())
    append_array(out, value.as_array(), style);
  else
    append_object(out, value.as_object(), style);
}

}  // namespace

void append_rendered(std::string& out, const Value& value) { append_value(out, value, kPlain); }

std::string render(const Value& value) {
  std::string out;
  append_rendered(out, value);
  return out;
}

std::string render_sorted(const Value& value) {
  std::string out;
  append_value(out, value, kSortedCompact);
  return out;
}

}  // namespace d3::json
