#include "cli/settings.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/input.h"

namespace d3::cli {
namespace {

constexpr const char* kConfig = "--config";

std::string long_name(const CLI::Option& option) { return option.get_lnames().front(); }

/// nullptr when there is no such command.
const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  const auto commands =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return commands.empty() ? nullptr : commands.front();
}

bool is_help(const std::string& argument) {
  return argument == "-h" || argument == "--help" || argument == "--version";
}

/// Where the command's name stands; the arguments' end when there is none.
std::vector<std::string>::const_iterator find_command(const CLI::App& app,
                                                      const std::vector<std::string>& arguments) {
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    if (argument->starts_with('-')) {
      const CLI::Option* option = app.get_option_no_throw(*argument);
      if (option != nullptr && option->get_expected_max() > 0 && argument + 1 != arguments.end()) ++argument;
    } else {
      return command_named(app, *argument) != nullptr ? argument : arguments.end();
    }
  }
  return arguments.end();
}

/// The options that the command line gives.
std::set<const CLI::Option*> options_in(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::set<const CLI::Option*> options;
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.size() < 2 || argument.front() != '-') continue;
    const std::string name =
        argument.starts_with("--") ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
    if (const CLI::Option* option = command.get_option_no_throw(name)) options.insert(option);
  }
  return options;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

bool is_configurable(const CLI::Option& option) {
  return !option.get_lnames().empty() && !option.get_positional() && !option.get_trigger_on_parse() &&
         long_name(option) != "help" && long_name(option) != "config" && long_name(option) != "version";
}

std::string variable_of(const CLI::Option& option) {
  std::string name = "D3_" + long_name(option);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
  return name;
}

Settings::Settings(const CLI::App& app, const Context& context) : app_(app), context_(context) {}

std::vector<std::string> Settings::complete(std::vector<std::string> arguments) {
  const auto name = find_command(app_, arguments);
  if (name == arguments.end() || std::ranges::any_of(arguments, is_help)) return arguments;
  const CLI::App& command = *command_named(app_, *name);
  read_files(arguments);
  std::set<const CLI::Option*> given = options_in(command, arguments);
  given.merge(options_in(app_, arguments));
  std::vector<std::string> more;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_configurable(*option) || given.contains(option)) continue;
    if (std::ranges::any_of(option->get_excludes(), [&](const CLI::Option* o) { return given.contains(o); }))
      continue;
    std::string place;
    const auto values = values_of(command, *option, place);
    if (values.empty()) continue;
    given.insert(option);
    given_.push_back({.option = "--" + long_name(*option), .place = place});
    for (const std::string& value : values) more.push_back(given_.back().option + '=' + value);
  }
  arguments.insert(name + 1, more.begin(), more.end());
  return arguments;
}

std::string Settings::explain(const std::string& message) const {
  for (const Given& given : given_) {
    const size_t at = message.find(given.option);
    if (at == std::string::npos) continue;
    const size_t end = at + given.option.size();
    const bool goes_on = end < message.size() &&
                         (std::isalnum(static_cast<unsigned char>(message[end])) != 0 || message[end] == '-');
    if (!goes_on) return fmt::format("{} ({} is from {})", message, given.option, given.place);
  }
  return message;
}

void Settings::read_files(const std::vector<std::string>& arguments) {
  const std::string with_value = std::string(kConfig) + '=';
  std::optional<std::string> chosen;
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i] == kConfig && i + 1 < arguments.size()) chosen = arguments[i + 1];
    if (arguments[i].starts_with(with_value)) chosen = arguments[i].substr(with_value.size());
  }
  if (const auto variable = context_.variables.find("D3_CONFIG");
      !chosen && variable != context_.variables.end())
    chosen = variable->second;
  if (chosen) return read_file(*chosen);
  for (const auto& path : context_.config_files) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) read_file(path);
  }
}

void Settings::read_file(const std::string& path) {
  for (ConfigEntry& entry : parse_config(cli::read_file(path), path)) {
    check(entry);
    entries_.push_back(std::move(entry));
  }
}

void Settings::check(const ConfigEntry& entry) const {
  const auto has = [&](const CLI::App& command) {
    const CLI::Option* option = command.get_option_no_throw("--" + entry.option);
    return option != nullptr && is_configurable(*option);
  };
  const auto commands = app_.get_subcommands([](const CLI::App*) { return true; });
  if (entry.command.empty()) {
    if (std::ranges::any_of(commands, [&](const CLI::App* command) { return has(*command); })) return;
    throw UsageError(fmt::format("{}: no command has an option {}", entry.place, entry.option));
  }
  const CLI::App* command = command_named(app_, entry.command);
  if (command == nullptr)
    throw UsageError(fmt::format("{}: there is no command {}", entry.place, entry.command));
  if (!entry.option.empty() && !has(*command))
    throw UsageError(
        fmt::format("{}: there is no option {} of d3 {}", entry.place, entry.option, entry.command));
}

const ConfigEntry* Settings::find_entry(const CLI::App& command, const CLI::Option& option) const {
  const auto found = std::ranges::find_if(entries_, [&](const ConfigEntry& entry) {
    return entry.option == long_name(option) &&
           (entry.command.empty() || entry.command == command.get_name());
  });
  return found != entries_.end() ? &*found : nullptr;
}

std::vector<std::string> Settings::values_of(const CLI::App& command, const CLI::Option& option,
                                             std::string& place) const {
  if (const auto variable = context_.variables.find(variable_of(option));
      variable != context_.variables.end()) {
    place = "the environment: " + variable->first;
    // More than one value for an option that may be repeated: one a line.
    if (option.get_items_expected_max() > 1) return lines_of(variable->second);
    return {variable->second};
  }
  const ConfigEntry* entry = find_entry(command, option);
  if (entry == nullptr) return {};
  place = entry->place;
  return entry->values;
}

}  // namespace d3::cli
