// cli/manual.h: the manual page, made of the command line itself.
#pragma once

#include <string>
#include <vector>

#include "cli/command_table.h"

namespace d3::cli {

/// The text of d3.1, as man(7) has it.
std::string manual_page(const std::vector<CommandInfo>& commands);

}  // namespace d3::cli
