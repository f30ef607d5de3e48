// cli/command_table.h: what the command line is made of, for whoever describes it: completion and manual.
#pragma once

#include <string>
#include <vector>

#include "cli/cli11.h"

namespace d3::cli {

struct OptionInfo {
  std::string long_name;             ///< "--port"
  std::string short_name;            ///< "-o" or empty
  std::string value;                 ///< what it takes, "N"; empty for a flag
  std::vector<std::string> choices;  ///< its values where these are all
  std::string default_value;
  std::string variable;  ///< of the environment; empty where none gives it
  std::string description;

  bool takes_path() const { return value == "FILE" || value == "PATH" || value == "DIR"; }
};

struct CommandInfo {
  std::string name;
  std::string description;
  std::string footer;
  std::vector<OptionInfo> options;
  std::vector<OptionInfo> positionals;  ///< long_name is the name alone

  bool takes_model() const;
};

std::vector<CommandInfo> commands_of(const CLI::App& app);

}  // namespace d3::cli
