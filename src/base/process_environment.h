// base/process_environment.h: what the process was started with. Only the command line and the C++ library,
// the two ways into the program, may look; all else is told.
#pragma once

#include <optional>
#include <string>

namespace d3 {

/// A variable of the environment; none when it is not set or empty.
std::optional<std::string> environment_variable(const std::string& name);

/// HOME, else the directory of the user's account, else /.
std::string home_directory();

}  // namespace d3
