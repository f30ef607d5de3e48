#include "cli/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "cli/command.h"

namespace d3::cli {
namespace {

std::string place_of(const std::string& path, const toml::source_region& source) {
  return fmt::format("{}, line {}", path, source.begin.line);
}

std::string value_text(const toml::node& node, const std::string& place) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<int64_t>()) return fmt::format("{}", *number);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  throw UsageError(place + ": expected a string, a number, true or false, or an array of these");
}

void append_entries(std::vector<ConfigEntry>& entries, const toml::table& table, const std::string& command,
                    const std::string& path) {
  for (const auto& [key, node] : table) {
    if (node.is_table()) continue;
    ConfigEntry entry{.command = command,
                      .option = std::string(key.str()),
                      .values = {},
                      .place = place_of(path, key.source())};
    if (const toml::array* values = node.as_array())
      for (const toml::node& value : *values) entry.values.push_back(value_text(value, entry.place));
    else
      entry.values.push_back(value_text(node, entry.place));
    entries.push_back(std::move(entry));
  }
}

}  // namespace

std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& path) {
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw UsageError(place_of(path, error.source()) + ": " + std::string(error.description()));
  }
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : root) {
    const toml::table* table = node.as_table();
    if (table == nullptr) continue;
    for (const auto& [inner, value] : *table)
      if (value.is_table())
        throw UsageError(fmt::format("{}: a table within [{}]", place_of(path, inner.source()), key.str()));
    if (table->empty())
      entries.push_back({.command = std::string(key.str()),
                         .option = {},
                         .values = {},
                         .place = place_of(path, key.source())});
    append_entries(entries, *table, std::string(key.str()), path);
  }
  append_entries(entries, root, {}, path);
  return entries;
}

}  // namespace d3::cli
