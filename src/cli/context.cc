#include "cli/context.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/process_environment.h"

namespace d3::cli {
namespace {

std::map<std::string, std::string> own_variables() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (text.starts_with("D3_") && equals != std::string_view::npos && equals + 1 < text.size())
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::filesystem::path config_home() {
  if (const auto home = environment_variable("XDG_CONFIG_HOME")) return *home;
  return std::filesystem::path(home_directory()) / ".config";
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = environment_variable(name);
    if (!value) continue;
    return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos ||
           value->find("UTF8") != std::string::npos;
  }
  return false;
}

Output output(std::FILE* file) {
  Output output{.file = file};
  output.terminal = ::isatty(::fileno(file)) == 1;
  output.colour = output.terminal && !environment_variable("NO_COLOR");
  output.unicode = locale_is_utf8();
  winsize size{};
  if (output.terminal && ::ioctl(::fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    output.columns = size.ws_col;
  return output;
}

}  // namespace

void Output::print(std::string_view text) const { std::fwrite(text.data(), 1, text.size(), file); }

void Output::flush() const { std::fflush(file); }

Context process_context() {
  return {.out = output(stdout),
          .err = output(stderr),
          .in = stdin,
          .in_is_terminal = ::isatty(::fileno(stdin)) == 1,
          .variables = own_variables(),
          .config_files = {config_home() / "d3/config.toml", "/etc/d3/config.toml"},
          .cpu_target = environment_variable("D3_CPU_TARGET").value_or(""),
          .hub = hub::settings_from(environment_variable, home_directory())};
}

void keep_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

}  // namespace d3::cli
