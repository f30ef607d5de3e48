#include "cli/hub_commands.h"

#include <algorithm>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/model_source.h"
#include "cli/units.h"
#include "demo/demo.h"
#include "hub/cache.h"

namespace d3::cli {
namespace {

void add_model(CLI::App& app, std::string& model, const char* what) {
  app.add_option("MODEL", model, what)->required()->type_name("");
}

constexpr size_t kShortCommit = 8;

}  // namespace

CLI::App* PullCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("pull", "Fetch a model from Hugging Face into the cache");
  add_model(*command, model_,
            "ORG/NAME or ORG/NAME@REVISION; d3-nano and its like alone mean vllm-sr/d3-nano");
  add_revision(*command, revision_);
  command->footer(
      "Prints the directory of the checkpoint; of demo, which is part of this program, the name. What was "
      "stopped\n"
      "is gone on with; nothing is fetched twice.\n"
      "The cache is the one of Hugging Face's Python client, with the same variables: HF_HOME, "
      "HF_HUB_CACHE,\n"
      "HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE.\n"
      "Example: d3 pull vllm-sr/d3-nano");
  return command;
}

int PullCommand::run(const Context& context) {
  if (names_demo(model_, revision_)) {
    context.err.print(fmt::format("d3: {} is part of this program: there is nothing to pull\n", model_));
    context.out.print(model_ + '\n');
    return kSuccess;
  }
  const hub::Pulled pulled = pull_model(model_name_from(model_, revision_), context.hub, context);
  context.out.print(pulled.directory.string() + '\n');
  return kSuccess;
}

CLI::App* ListCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("list", "List the decision models in the cache");
  command->add_flag("--names", names_, "Names alone, as other commands take them, demo's too");
  return command;
}

int ListCommand::run(const Context& context) {
  const auto models = hub::list_models(context.hub.cache);
  if (names_) {
    context.out.print(fmt::format("{}\n", demo::kName));
    for (const hub::CachedModel& model : models)
      context.out.print(hub::to_text({.repo = model.repo, .revision = model.revision}) + '\n');
    return kSuccess;
  }
  if (models.empty()) {
    context.err.print(fmt::format("d3: no decision models in {}; {} is part of this program\n",
                                  context.hub.cache.string(), demo::kName));
    return kSuccess;
  }
  size_t repo_width = 0;
  size_t revision_width = 0;
  for (const hub::CachedModel& model : models) {
    repo_width = std::max(repo_width, model.repo.size());
    revision_width = std::max(revision_width, model.revision.size());
  }
  for (const hub::CachedModel& model : models)
    context.out.print(fmt::format("{:<{}}  {:<{}}  {}  {:>9}{}\n", model.repo, repo_width, model.revision,
                                  revision_width, model.commit.substr(0, kShortCommit),
                                  bytes_text(static_cast<int64_t>(model.bytes)),
                                  model.whole ? "" : "  in part: pull it again"));
  return kSuccess;
}

CLI::App* RemoveCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("rm", "Remove a decision model from the cache");
  add_model(*command, model_,
            "ORG/NAME for all its revisions, ORG/NAME@REVISION for one, as `d3 list` shows them");
  add_revision(*command, revision_);
  return command;
}

int RemoveCommand::run(const Context& context) {
  if (model_ == demo::kName)
    throw UsageError(fmt::format("{} is part of this program and cannot be removed", model_));
  const hub::ModelName name = model_name_from(model_, revision_);
  const bool one = !revision_.empty() || model_.find('@') != std::string::npos;
  const uint64_t bytes =
      hub::remove_model(context.hub.cache, name.repo, one ? std::optional(name.revision) : std::nullopt);
  context.err.print(fmt::format("d3: removed {}: {}\n", one ? hub::to_text(name) : name.repo,
                                bytes_text(static_cast<int64_t>(bytes))));
  return kSuccess;
}

}  // namespace d3::cli
