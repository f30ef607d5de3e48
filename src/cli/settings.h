// cli/settings.h: options that the command line does not give: from the environment, then from files.
#pragma once

#include <string>
#include <vector>

#include "cli/cli11.h"
#include "cli/config_file.h"
#include "cli/context.h"

namespace d3::cli {

/// Whether the environment and files may give it: every option with a long name but --help and --config, and
/// those whose order on the command line means something.
bool is_configurable(const CLI::Option& option);

/// The environment variable of an option: D3_MAX_QUEUE for --max-queue.
std::string variable_of(const CLI::Option& option);

/// One order for every option: the command line, the environment, the user's file (or the one that --config
/// or D3_CONFIG names, alone), the system's file, the default. An option that excludes one given at a higher
/// place is left out.
class Settings {
 public:
  /// `app` has all its commands.
  Settings(const CLI::App& app, const Context& context);

  /// The command line with the options that it lacks behind the command's name. Throws UsageError for a file
  /// with an option or a command that there is not.
  std::vector<std::string> complete(std::vector<std::string> arguments);

  /// The message of an error about an option, with the place the option comes from.
  std::string explain(const std::string& message) const;

 private:
  struct Given {
    std::string option;  ///< "--port"
    std::string place;
  };

  void read_files(const std::vector<std::string>& arguments);
  void read_file(const std::string& path);
  void check(const ConfigEntry& entry) const;
  const ConfigEntry* find_entry(const CLI::App& command, const CLI::Option& option) const;
  std::vector<std::string> values_of(const CLI::App& command, const CLI::Option& option,
                                     std::string& place) const;

  const CLI::App& app_;
  const Context& context_;
  std::vector<ConfigEntry> entries_;  ///< those of a higher place first
  std::vector<Given> given_;
};

}  // namespace d3::cli
