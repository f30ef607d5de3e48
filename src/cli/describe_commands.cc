#include "cli/describe_commands.h"

#include <CLI/CLI.hpp>

#include "cli/command_table.h"
#include "cli/completion.h"
#include "cli/manual.h"

namespace d3::cli {

CLI::App* CompletionCommand::add_to(CLI::App& app) {
  app_ = &app;
  CLI::App* command =
      app.add_subcommand("completion", "Print a script with which a shell completes d3's words");
  command->add_option("SHELL", shell_, "The shell: bash, zsh or fish")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  command->footer("Example: eval \"$(d3 completion bash)\"");
  return command;
}

int CompletionCommand::run(const Context& context) {
  const auto commands = commands_of(*app_);
  if (shell_ == "bash")
    context.out.print(bash_completion(commands));
  else
    context.out.print(shell_ == "zsh" ? zsh_completion(commands) : fish_completion(commands));
  return kSuccess;
}

CLI::App* ManualCommand::add_to(CLI::App& app) {
  app_ = &app;
  CLI::App* command = app.add_subcommand("man", "Print the manual page");
  command->footer("Example: d3 man | man -l -");
  return command;
}

int ManualCommand::run(const Context& context) {
  context.out.print(manual_page(commands_of(*app_)));
  return kSuccess;
}

}  // namespace d3::cli
