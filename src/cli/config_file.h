// cli/config_file.h: options from a file, in TOML.
#pragma once

#include <string>
#include <vector>

namespace d3::cli {

/// `threads = 2` at the top of a file is meant for every command that has the option, the same under [serve]
/// for that command.
struct ConfigEntry {
  std::string command;              ///< empty for every command
  std::string option;               ///< without its dashes
  std::vector<std::string> values;  ///< as the command line would have them; several for an array
  std::string place;                ///< "FILE, line N"
};

/// The entries of a TOML text, those of a command before those for all. `path` is named in errors. Throws
/// UsageError with the line at fault: for what is no TOML, and for values that are no strings, numbers,
/// booleans or arrays of these.
std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& path);

}  // namespace d3::cli
