#include "support/json_build.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace d3::test {
namespace {

std::vector<json::Member>::iterator find_member(json::Value& value, std::string_view key) {
  json::Object& members = value.as_object();
  return std::find_if(members.begin(), members.end(), [&](const json::Member& m) { return m.key == key; });
}

/// The object that holds a path's last key, and that key.
std::pair<json::Value*, std::string_view> parent_of(json::Value& root, std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {&root, path};
  return {&at_path(root, path.substr(0, dot)), path.substr(dot + 1)};
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append_value(std::string& out, const json::Value& value, int indent, int depth);

/// Writes the items of an array or object, `write(item)` each.
template <typename Items, typename Write>
void append_items(std::string& out, const Items& items, char open, char close, int indent, int depth,
                  const Write& write) {
  out += open;
  const auto new_line = [&](int level) {
    if (indent > 0) out.append(1, '\n').append(static_cast<size_t>(indent) * static_cast<size_t>(level), ' ');
  };
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    new_line(depth + 1);
    write(items[i]);
  }
  if (!items.empty()) new_line(depth);
  out += close;
}

void append_value(std::string& out, const json::Value& value, int indent, int depth) {
  if (value.is_null()) {
    out += "null";
  } else if (value.is_bool()) {
    out += value.as_bool() ? "true" : "false";
  } else if (value.is_number()) {
    out += value.as_number().text;
  } else if (value.is_string()) {
    append_quoted(out, value.as_string());
  } else if (value.is_array()) {
    append_items(out, value.as_array(), '[', ']', indent, depth,
                 [&](const json::Value& item) { append_value(out, item, indent, depth + 1); });
  } else {
    append_items(out, value.as_object(), '{', '}', indent, depth, [&](const json::Member& member) {
      append_quoted(out, member.key);
      out += indent > 0 ? ": " : ":";
      append_value(out, member.value, indent, depth + 1);
    });
  }
}

}  // namespace

json::Value number(int64_t value) { return json::Value(json::Number{std::to_string(value)}); }
json::Value number_text(std::string text) { return json::Value(json::Number{std::move(text)}); }
json::Value string(std::string_view text) { return json::Value(std::string(text)); }
json::Value boolean(bool value) { return json::Value(value); }

json::Value object(json::Object members) { return json::Value(std::move(members)); }
json::Value array(json::Array items) { return json::Value(std::move(items)); }

json::Value& at_path(json::Value& root, std::string_view path) {
  const auto [parent, key] = parent_of(root, path);
  const auto member = find_member(*parent, key);
  if (member == parent->as_object().end()) throw std::out_of_range(std::string(path));
  return member->value;
}

void set_path(json::Value& root, std::string_view path, json::Value value) {
  const auto [parent, key] = parent_of(root, path);
  const auto member = find_member(*parent, key);
  if (member == parent->as_object().end())
    parent->as_object().push_back({std::string(key), std::move(value)});
  else
    member->value = std::move(value);
}

void erase_path(json::Value& root, std::string_view path) {
  const auto [parent, key] = parent_of(root, path);
  const auto member = find_member(*parent, key);
  if (member == parent->as_object().end()) throw std::out_of_range(std::string(path));
  parent->as_object().erase(member);
}

std::string dump_json(const json::Value& value, int indent) {
  std::string out;
  append_value(out, value, indent, 0);
  return out;
}

}  // namespace d3::test
