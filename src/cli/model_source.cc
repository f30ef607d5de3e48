#include "cli/model_source.h"

#include <filesystem>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/pull_display.h"
#include "demo/demo.h"

namespace d3::cli {

void add_revision(CLI::App& app, std::string& revision) {
  app.add_option("--revision", revision,
                 "Branch, tag or commit of a model on the hub, as ORG/NAME@REVISION has it")
      ->type_name("REVISION");
}

void ModelSource::add_to(CLI::App& app) {
  app.add_option(
         "MODEL", text_,
         "A checkpoint's directory (the one with config.json), or the name of a model on Hugging Face: "
         "ORG/NAME, ORG/NAME@REVISION, or d3-nano and its like alone for vllm-sr/d3-nano. It is pulled into "
         "the cache when it is not there. demo: the small model for demonstrations inside this program")
      ->required()
      ->type_name("");
  add_revision(app, revision_);
  app.add_flag("--offline", offline_, "Take models from the cache alone, as HF_HUB_OFFLINE=1 does");
}

Folder ModelSource::folder(const Context& context) const {
  if (names_demo(text_, revision_)) return demo::folder();
  std::error_code ignored;
  if (std::filesystem::exists(text_, ignored) || hub::looks_like_path(text_)) {
    if (!revision_.empty()) throw UsageError("--revision is for a model on the hub, and MODEL is a path");
    return Folder(std::filesystem::path(text_));
  }
  hub::Settings settings = context.hub;
  settings.offline = settings.offline || offline_;
  return pull_model(model_name_from(text_, revision_), settings, context).directory;
}

bool names_demo(const std::string& text, const std::string& revision) {
  if (text != demo::kName) return false;
  if (!revision.empty()) throw UsageError("--revision is for a model on the hub, and demo is part of d3");
  return true;
}

hub::ModelName model_name_from(const std::string& text, const std::string& revision) {
  if (!revision.empty() && text.find('@') != std::string::npos)
    throw UsageError("a revision is given twice: after @ and with --revision");
  return hub::parse_owned_model_name(text, revision);
}

hub::Pulled pull_model(const hub::ModelName& name, const hub::Settings& settings, const Context& context) {
  PullDisplay display(context.err, hub::to_text(name), settings.cache.string());
  hub::Pulled pulled = hub::pull(name, settings, display.events());
  display.finish(pulled);
  return pulled;
}

}  // namespace d3::cli
