#include "cli/command_table.h"

#include <algorithm>
#include <sstream>

#include <CLI/CLI.hpp>

#include "cli/settings.h"

namespace d3::cli {
namespace {

/// "fast|full|none" names the values there are; "N" stands for one.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  if (type.find('|') == std::string::npos) return choices;
  std::istringstream stream(type);
  for (std::string choice; std::getline(stream, choice, '|');) choices.push_back(choice);
  return choices;
}

OptionInfo info_of(const CLI::Option& option) {
  OptionInfo info{
      .long_name = option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front(),
      .short_name = option.get_snames().empty() ? "" : "-" + option.get_snames().front(),
      .value = {},
      .choices = {},
      .default_value = option.get_default_str(),
      .variable = is_configurable(option) ? variable_of(option) : "",
      .description = option.get_description()};
  if (option.get_expected_max() == 0) return info;  // a flag
  const std::string type = option.get_type_name();
  info.choices = choices_of(type);
  info.value = type.empty() || type == "TEXT" ? "VALUE" : type;
  return info;
}

}  // namespace

bool CommandInfo::takes_model() const {
  return std::ranges::any_of(positionals, [](const OptionInfo& info) { return info.long_name == "MODEL"; });
}

std::vector<CommandInfo> commands_of(const CLI::App& app) {
  std::vector<CommandInfo> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandInfo info{.name = command->get_name(),
                     .description = command->get_description(),
                     .footer = command->get_footer(),
                     .options = {},
                     .positionals = {}};
    for (const CLI::Option* option : command->get_options())
      (option->get_positional() ? info.positionals : info.options).push_back(info_of(*option));
    commands.push_back(std::move(info));
  }
  return commands;
}

}  // namespace d3::cli
