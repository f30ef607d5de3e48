#include "cli/manual.h"

#include <string_view>

#include <fmt/format.h>

namespace d3::cli {
namespace {

/// Text as roff takes it: a line may not begin with a dot or a quote, and a hyphen is a minus.
std::string escaped(std::string_view text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    at_line_start = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string option_entry(const OptionInfo& option) {
  std::string out = ".TP\n\\fB";
  if (!option.short_name.empty()) out += escaped(option.short_name) + "\\fR, \\fB";
  out += escaped(option.long_name) + "\\fR";
  if (!option.value.empty()) out += " \\fI" + escaped(option.value) + "\\fR";
  out += '\n' + escaped(option.description) + ".\n";
  if (!option.default_value.empty()) out += "Default: " + escaped(option.default_value) + ".\n";
  if (!option.variable.empty()) out += "Variable: " + option.variable + ".\n";
  return out;
}

std::string command_section(const CommandInfo& command) {
  std::string out = fmt::format(".SS d3 {}", command.name);
  for (const OptionInfo& positional : command.positionals) out += ' ' + escaped(positional.long_name);
  out += '\n' + escaped(command.description) + ".\n";
  for (const OptionInfo& positional : command.positionals)
    out +=
        fmt::format(".TP\n\\fI{}\\fR\n{}.\n", escaped(positional.long_name), escaped(positional.description));
  for (const OptionInfo& option : command.options)
    if (option.long_name != "--help") out += option_entry(option);
  if (!command.footer.empty()) out += ".PP\n.nf\n" + escaped(command.footer) + "\n.fi\n";
  return out;
}

constexpr std::string_view kEnd = R"(.SH CONFIGURATION
Every option may come from four places; the first that gives it counts:
the command line; the environment, as the variable named beside it; a file; its default.
The file is the one that
.B \-\-config
or D3_CONFIG names, or else
.I $XDG_CONFIG_HOME/d3/config.toml
(without that variable
.IR ~/.config/d3/config.toml )
and, for what that does not say,
.IR /etc/d3/config.toml .
It is TOML; an option at its top is meant for every command that has it, one under
.RB [ serve ]
for that command.
.SH ENVIRONMENT
.TP
.B D3_CPU_TARGET
The instructions to use, instead of the best that the processor has.
.TP
.BR HF_HOME ", " HF_HUB_CACHE ", " HF_TOKEN ", " HF_ENDPOINT ", " HF_HUB_OFFLINE
As Hugging Face's Python client reads them.
.TP
.B NO_COLOR
No colours, where
.B \-\-color
does not ask for them.
.SH EXIT STATUS
0 success, 1 failure, 2 a command line or configuration that cannot be understood.
)";

}  // namespace

std::string manual_page(const std::vector<CommandInfo>& commands) {
  std::string out = ".TH D3 1 \"\" \"d3 " D3_VERSION
                    "\"\n.SH NAME\nd3 \\- answer questions about a state with decision models\n"
                    ".SH SYNOPSIS\n.B d3\n.I COMMAND\n[\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
  for (const CommandInfo& command : commands) out += command_section(command);
  return out + std::string(kEnd);
}

}  // namespace d3::cli
