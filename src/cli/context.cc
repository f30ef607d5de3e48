#include "cli/context.h"

#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace d3::cli {
namespace {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string home_directory() {
  if (const auto home = environment("HOME")) return *home;
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_dir : "/";
}

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
  if (const auto home = environment("XDG_CONFIG_HOME")) return *home;
  return std::filesystem::path(home_directory()) / ".config";
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = environment(name);
    if (!value) continue;
    return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos ||
           value->find("UTF8") != std::string::npos;
  }
  return false;
}

Output output(std::FILE* file) {
  Output output{.file = file};
  output.terminal = ::isatty(::fileno(file)) == 1;
  output.colour = output.terminal && !environment("NO_COLOR");
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
          .cpu_target = environment("D3_CPU_TARGET").value_or(""),
          .hub = hub::settings_from([](const std::string& name) { return environment(name.c_str()); },
                                    home_directory())};
}

void keep_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

}  // namespace d3::cli
