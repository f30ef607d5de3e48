// cli/app.h: the program d3.
#pragma once

#include "cli/context.h"

namespace d3::cli {

/// Parses the command line and runs the command. Returns the exit code: 0, 1 for a failure, 2 for a command
/// line that cannot be understood. Errors are one line on standard error.
int run(int argc, const char* const* argv, const Context& context);

}  // namespace d3::cli
