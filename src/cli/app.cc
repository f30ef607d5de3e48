#include "cli/app.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/ask_command.h"
#include "cli/batch_command.h"
#include "cli/bench_command.h"
#include "cli/hub_commands.h"
#include "cli/inspect_command.h"
#include "cli/prompt_command.h"
#include "cli/serve_command.h"
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

}  // namespace

int run(int argc, const char* const* argv, const Context& context) {
  CLI::App app("Answers questions about a state with Decision 3.0 models.", "d3");
  app.set_version_flag("--version", "d3 " D3_VERSION);
  app.require_subcommand(1);
  app.footer("Run `d3 COMMAND --help` for a command's options.\nExit codes: 0 success, 1 failure, 2 usage.");
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
  std::array<std::pair<Command*, CLI::App*>, 10> commands{{{&serve, nullptr},
                                                           {&ask, nullptr},
                                                           {&batch, nullptr},
                                                           {&inspect, nullptr},
                                                           {&tokenize, nullptr},
                                                           {&prompt, nullptr},
                                                           {&pull, nullptr},
                                                           {&list, nullptr},
                                                           {&remove, nullptr},
                                                           {&bench, nullptr}}};
  for (auto& [command, parsed] : commands) parsed = command->add_to(app);
  try {
    app.parse(argc, argv);
    for (const auto& [command, parsed] : commands)
      if (parsed->parsed()) return finish(context, command->run(context));
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
    return fail(context, std::string(error.what()) + " (see --help)", kUsage);
  } catch (const UsageError& error) {
    return fail(context, std::string(error.what()) + " (see --help)", kUsage);
  } catch (const std::exception& error) {
    return fail(context, error.what(), kFailure);
  }
  return kSuccess;
}

}  // namespace d3::cli
