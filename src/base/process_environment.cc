#include "base/process_environment.h"

#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

namespace d3 {

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string home_directory() {
  if (auto home = environment_variable("HOME")) return *home;
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_dir : "/";
}

}  // namespace d3
