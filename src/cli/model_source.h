// cli/model_source.h: MODEL, the first argument of every command that reads a checkpoint.
#pragma once

#include <string>

#include "base/folder.h"
#include "cli/cli11.h"
#include "cli/context.h"
#include "hub/model_name.h"
#include "hub/pull.h"

namespace d3::cli {

/// A directory, the name of a model on the hub, or the model inside the program.
class ModelSource {
 public:
  /// MODEL, --revision and --offline.
  void add_to(CLI::App& app);

  const std::string& text() const { return text_; }  ///< as typed

  /// The checkpoint's folder: the program's own for "demo", the directory typed where there is such a
  /// directory, else that of the model in the cache, pulled when the cache lacks it; what is done is told on
  /// standard error. Throws UsageError for --revision beside "demo", a directory or an @, Error for the
  /// rest.
  Folder folder(const Context& context) const;

 private:
  std::string text_;
  std::string revision_;
  bool offline_ = false;
};

/// --revision.
void add_revision(CLI::App& app, std::string& revision);

/// Whether a text names the model inside the program. Throws UsageError for --revision beside it.
bool names_demo(const std::string& text, const std::string& revision);

/// The model that a text and --revision name. Throws UsageError for two revisions, Error(kNotFound) for what
/// is no name of a model and Error(kInvalidArgument) for what cannot be one.
hub::ModelName model_name_from(const std::string& text, const std::string& revision);

/// Pulls a model and shows how far it is.
hub::Pulled pull_model(const hub::ModelName& name, const hub::Settings& settings, const Context& context);

}  // namespace d3::cli
