// cli/completion.h: scripts with which shells complete d3's command line.
#pragma once

#include <string>
#include <vector>

#include "cli/command_table.h"

namespace d3::cli {

std::string bash_completion(const std::vector<CommandInfo>& commands);
std::string zsh_completion(const std::vector<CommandInfo>& commands);
std::string fish_completion(const std::vector<CommandInfo>& commands);

}  // namespace d3::cli
