#include "engine/load.h"

#include <string>
#include <utility>

#include "checkpoint/answer_codes.h"
#include "text/tokenizer.h"

namespace d3::engine {
namespace {

// What the executor and the encoder refer to.
struct Resources {
  checkpoint::Checkpoint checkpoint;
  text::Tokenizer tokenizer;
};

std::optional<int64_t> prompt_limit(const LoadOptions& options, const checkpoint::Checkpoint& checkpoint) {
  if (options.max_length) return options.max_length;
  if (checkpoint.decision().max_length) return checkpoint.decision().max_length;
  if (checkpoint.config().text.max_position_embeddings > 0)
    return checkpoint.config().text.max_position_embeddings;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<DecisionModel> load_model(const LoadOptions& options) {
  auto resources = std::make_shared<Resources>(
      Resources{.checkpoint = checkpoint::Checkpoint::open(options.directory, options.verify),
                .tokenizer = text::Tokenizer::load(options.directory)});
  const checkpoint::Checkpoint& checkpoint = resources->checkpoint;
  checkpoint::check_answer_codes(checkpoint, resources->tokenizer);
  DecisionModel::Parts parts;
  parts.info = {.model_name = checkpoint.model_name(),
                .repo_id = checkpoint.repo_id(),
                .max_length = prompt_limit(options, checkpoint)};
  parts.encode = [resources](std::string_view text) { return resources->tokenizer.encode(text); };
  parts.codes = checkpoint.decision().codes;
  parts.temperature = checkpoint.decision().temperature;
  parts.executor = cpu::make_executor(checkpoint, {.dtype = options.dtype,
                                                   .threads = options.threads,
                                                   .cpu_target = options.cpu_target,
                                                   .on_progress = options.on_progress});
  if (parts.executor->has_vision())
    parts.media = MediaParts{.tokens = media_tokens(checkpoint.config()), .options = options.media};
  parts.resources = std::move(resources);
  return std::make_unique<DecisionModel>(std::move(parts), options.engine);
}

}  // namespace d3::engine
