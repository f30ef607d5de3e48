// cli/model_options.h: the options of every command that loads a model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/cli11.h"
#include "cli/context.h"
#include "cli/model_source.h"
#include "engine/load.h"

namespace d3::cli {

/// --verify and what its value means.
void add_verify(CLI::App& app, std::string& verify);
checkpoint::Verify verify_from(const std::string& name);

class ModelOptions {
 public:
  void add_to(CLI::App& app);

  const std::string& name() const { return source_.text(); }  ///< MODEL as typed
  /// Pulls the model when that is needed (cli/model_source.h), which may take its time.
  engine::LoadOptions load_options(const Context& context) const;

 private:
  ModelSource source_;
  std::string dtype_ = "auto";
  std::string verify_ = "fast";
  int threads_ = 0;
  std::optional<int64_t> max_length_;
  int64_t max_batch_tokens_ = engine::EngineOptions{}.max_batch_tokens;
};

/// Loads a model and shows how far it is.
std::unique_ptr<engine::DecisionModel> load_model(engine::LoadOptions options, const Context& context);

}  // namespace d3::cli
