#include "cli/app.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/ask_command.h"
#include "cli/batch_command.h"
#include "cli/bench_command.h"
#include "cli/describe_commands.h"
#include "cli/doctor_command.h"
#include "cli/hub_commands.h"
#include "cli/inspect_command.h"
#include "cli/prompt_command.h"
#include "cli/serve_command.h"
#include "cli/settings.h"
#include "cli/tokenize_command.h"

namespace d3::cli {
namespace {

int fail(const Context& context, std::string message, int code) {
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  context.err.print(fmt::format("d3: error: {}\n", message));
  return code;
}

/// What was printed must have arrived (a full disk, a closed pipe).
int finish(const Context& context, int code) {
  context.out.flush();
  if (std::ferror(context.out.file) == 0) return code;
  return fail(context, fmt::format("cannot write to standard output: {}", std::strerror(errno)), kFailure);
}

/// Names beside each option the variable that may give it.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_desc(option);
    if (is_configurable(*option)) text += fmt::format(" [{}]", variable_of(*option));
    return text;
  }
};

/// What every command takes.
struct CommonOptions {
  std::string config;  // read by Settings
  std::string color = "auto";

  void add_to(CLI::App& app) {
    app.add_option("--config", config,
                   "A file with options (TOML), instead of ~/.config/d3/config.toml and /etc/d3/config.toml "
                   "[D3_CONFIG]")
        ->type_name("FILE");
    app.add_option("--color", color, "Colours: on a terminal where NO_COLOR is not set, or always, or never")
        ->type_name("auto|always|never")
        ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
        ->capture_default_str();
  }

  Context apply_to(Context context) const {
    for (Output* output : {&context.out, &context.err})
      if (color != "auto") output->colour = color == "always";
    return context;
  }
};

}  // namespace

int run(int argc, const char* const* argv, const Context& context) {
  CLI::App app("Answers questions about a state with Decision 3.0 models.", "d3");
  app.set_version_flag("--version", "d3 " D3_VERSION);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(
      "Run `d3 COMMAND --help` for a command's options. Each option may come from the environment (the "
      "variable\n"
      "in brackets) or a file too: the command line counts before the environment, that before the file.\n"
      "Exit codes: 0 success, 1 failure, 2 usage.");
  ServeCommand serve;
  AskCommand ask;
  InspectCommand inspect;
  TokenizeCommand tokenize;
  PromptCommand prompt;
  BatchCommand batch;
  PullCommand pull;
  ListCommand list;
  RemoveCommand remove;
  BenchCommand bench;
  DoctorCommand doctor;
  CompletionCommand completion;
  ManualCommand manual;
  std::vector<std::pair<Command*, CLI::App*>> commands;
  CommonOptions common;
  common.add_to(app);
  for (Command* command :
       std::initializer_list<Command*>{&serve, &ask, &batch, &inspect, &tokenize, &prompt, &pull, &list,
                                       &remove, &bench, &doctor, &completion, &manual}) {
    commands.emplace_back(command, command->add_to(app));
    common.add_to(*commands.back().second);
  }
  Settings settings(app, context);
  try {
    std::vector<std::string> arguments = settings.complete({argv + std::min(argc, 1), argv + argc});
    std::ranges::reverse(arguments);  // as CLI11 takes them
    app.parse(std::move(arguments));
    for (const auto& [command, parsed] : commands)
      if (parsed->parsed()) return finish(context, command->run(common.apply_to(context)));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    context.out.print(chosen.empty() ? app.help() : chosen.front()->help("d3"));
    return finish(context, kSuccess);
  } catch (const CLI::CallForVersion& version) {
    context.out.print(std::string(version.what()) + '\n');
    return finish(context, kSuccess);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty() && !app.remaining().empty())
      return fail(context, fmt::format("there is no command {} (see --help)", app.remaining().front()),
                  kUsage);
    return fail(context, settings.explain(error.what()) + " (see --help)", kUsage);
  } catch (const UsageError& error) {
    return fail(context, std::string(error.what()) + " (see --help)", kUsage);
  } catch (const std::exception& error) {
    return fail(context, error.what(), kFailure);
  }
  return kSuccess;
}

}  // namespace d3::cli
