#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace d3::cli {
namespace {

constexpr const char* kModels = "$(d3 list --names 2>/dev/null)";

// clang-format off: the scripts are text
constexpr std::string_view kBash = R"sh(# bash completion for d3: eval "$(d3 completion bash)"
_d3() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= options= models= i
  COMPREPLY=()
  # --option=value comes as three words.
  if [ "$current" = = ]; then current=; elif [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in @NAMES|@) command=${COMP_WORDS[i]}; break ;; esac
  done
  if [ -z "$command" ]; then
    COMPREPLY=($(compgen -W '@NAMES@ --help --version' -- "$current"))
    return
  fi
  case $command:$before in
@VALUES@  esac
  case $command in
@WORDS@  esac
  case $current in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$models" -- "$current")); compopt -o default 2>/dev/null ;;
  esac
}
complete -F _d3 d3
)sh";

constexpr std::string_view kZsh = R"sh(#compdef d3
# zsh completion for d3: d3 completion zsh > a directory of $fpath, named _d3
_d3_models() {
  local -a models
  models=(${(f)"$(d3 list --names 2>/dev/null)"})
  compadd -a models
  _files -/
}
_d3() {
  local -a commands
  commands=(
@NAMES@  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
@CASES@  esac
}
if [ "$funcstack[1]" = _d3 ]; then _d3 "$@"; else compdef _d3 d3; fi
)sh";

// clang-format on

/// The text with another in every place of a mark.
std::string filled(std::string text, std::string_view mark, const std::string& with) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size()))
    text.replace(at, mark.size(), with);
  return text;
}

/// A text between single quotes of a shell.
std::string quoted(std::string_view text, std::string_view for_quote) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += for_quote;
    else
      out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string first_sentence(const std::string& text) { return text.substr(0, text.find_first_of(";:(")); }

/// The patterns of a command's option in bash: serve:--dtype|serve:-d.
std::string patterns(const CommandInfo& command, const OptionInfo& option) {
  std::string out = command.name + ':' + option.long_name;
  if (!option.short_name.empty()) out += '|' + command.name + ':' + option.short_name;
  return out;
}

std::string zsh_description(const std::string& text) {
  std::string out;
  for (const char c : first_sentence(text)) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const OptionInfo& option) {
  if (option.value.empty()) return "";
  if (!option.choices.empty()) return fmt::format(":value:({})", fmt::join(option.choices, " "));
  return option.takes_path() ? ":file:_files" : ":value: ";
}

}  // namespace

std::string bash_completion(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> names;
  std::string values;
  std::string words;
  for (const CommandInfo& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> options;
    for (const OptionInfo& option : command.options) {
      options.push_back(option.long_name);
      if (!option.short_name.empty()) options.push_back(option.short_name);
      if (!option.choices.empty())
        values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;;\n",
                              patterns(command, option), fmt::join(option.choices, " "));
      else if (option.takes_path())
        values += fmt::format("    {}) compopt -o default; return ;;\n", patterns(command, option));
      else if (!option.value.empty())
        values += fmt::format("    {}) return ;;\n", patterns(command, option));
    }
    words += fmt::format("    {}) options='{}' models={} ;;\n", command.name, fmt::join(options, " "),
                         command.takes_model() ? fmt::format("\"{}\"", kModels) : "");
  }
  std::string script = filled(std::string(kBash), "@NAMES|@", fmt::format("{}", fmt::join(names, "|")));
  script = filled(std::move(script), "@NAMES@", fmt::format("{}", fmt::join(names, " ")));
  return filled(filled(std::move(script), "@VALUES@", values), "@WORDS@", words);
}

std::string zsh_completion(const std::vector<CommandInfo>& commands) {
  std::string names;
  std::string cases;
  for (const CommandInfo& command : commands) {
    names +=
        fmt::format("    {}\n", quoted(command.name + ':' + zsh_description(command.description), "'\\''"));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionInfo& option : command.options)
      for (const std::string& name : {option.long_name, option.short_name})
        if (!name.empty())
          cases += fmt::format(
              " \\\n        {}",
              quoted(fmt::format("*{}[{}]{}", name, zsh_description(option.description), zsh_action(option)),
                     "'\\''"));
    cases += command.takes_model() ? " \\\n        '1:model:_d3_models' '*:file:_files' ;;\n"
                                   : " \\\n        '*:file:_files' ;;\n";
  }
  return filled(filled(std::string(kZsh), "@NAMES@", names), "@CASES@", cases);
}

std::string fish_completion(const std::vector<CommandInfo>& commands) {
  std::string out =
      "# fish completion for d3: d3 completion fish > ~/.config/fish/completions/d3.fish\n"
      "complete -c d3 -f -n __fish_use_subcommand -l version -d 'Version'\n";
  for (const CommandInfo& command : commands) {
    out += fmt::format("complete -c d3 -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
                       quoted(first_sentence(command.description), "\\'"));
    const std::string here = fmt::format("complete -c d3 -n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionInfo& option : command.options) {
      out += fmt::format("{} -l {}", here, option.long_name.substr(2));
      if (!option.short_name.empty()) out += " -s " + option.short_name.substr(1);
      if (!option.choices.empty())
        out += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
      else if (option.takes_path())
        out += " -r -F";
      else if (!option.value.empty())
        out += " -x";
      out += fmt::format(" -d {}\n", quoted(first_sentence(option.description), "\\'"));
    }
    if (command.takes_model()) out += here + " -a '(d3 list --names 2>/dev/null)'\n";
  }
  return out;
}

}  // namespace d3::cli
