#include "cli/inspect_command.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "checkpoint/answer_codes.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/expected_tensors.h"
#include "checkpoint/manifest.h"
#include "cli/model_options.h"
#include "cli/units.h"
#include "demo/demo.h"
#include "text/tokenizer.h"

namespace d3::cli {
namespace {

using checkpoint::Checkpoint;
using checkpoint::ExpectedTensor;
using checkpoint::LayerType;

int64_t element_count(const ExpectedTensor& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.shape) count *= size;
  return count;
}

int64_t parameter_count(const std::vector<ExpectedTensor>& tensors) {
  int64_t count = 0;
  for (const ExpectedTensor& tensor : tensors) count += element_count(tensor);
  return count;
}

std::string line(const char* name, const std::string& value) {
  return fmt::format("  {:<14}{}\n", name, value);
}

int64_t bytes_of(const Folder& folder) {
  int64_t bytes = 0;
  for (const EmbeddedFile& file : folder.files()) bytes += static_cast<int64_t>(file.bytes.size());
  if (folder.embedded()) return bytes;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

std::string layers_text(const checkpoint::TextConfig& text) {
  std::string order;
  for (const LayerType type : text.layer_types) order += type == LayerType::kFullAttention ? 'F' : 'l';
  const auto full = std::count(order.begin(), order.end(), 'F');
  return fmt::format("{}: {} of linear attention (l), {} of full attention (F): {}", text.num_hidden_layers,
                     text.num_hidden_layers - full, full, order);
}

std::string verification_text(const Folder& folder, const std::string& verify) {
  const auto manifest = checkpoint::read_manifest(folder);
  if (!manifest) return "no MODEL_MANIFEST.json to check against";
  if (verify == "none")
    return fmt::format("{} files in MODEL_MANIFEST.json, not checked", manifest->files.size());
  return fmt::format("{} files as in MODEL_MANIFEST.json ({} check)", manifest->files.size(), verify);
}

std::string sizes_text(const Checkpoint& checkpoint) {
  const checkpoint::TextConfig& text = checkpoint.config().text;
  std::string out = line("layers", layers_text(text));
  out += line("width", fmt::format("{}, feed-forward {}", text.hidden_size, text.intermediate_size));
  out += line("heads", fmt::format("{} query and {} key/value of {}; linear: {} key and {} value of {}",
                                   text.num_attention_heads, text.num_key_value_heads, text.head_dim,
                                   text.linear_num_key_heads, text.linear_num_value_heads,
                                   text.linear_value_head_dim));
  out += line("vocabulary", fmt::format("{} tokens", text.vocab_size));
  const auto& vision = checkpoint.config().vision;
  out += line("vision", checkpoint.has_vision() && vision
                            ? fmt::format("{} blocks of width {}", vision->depth, vision->hidden_size)
                            : std::string("none: images and videos are refused"));
  return out;
}

/// Weights in memory: the products' in the dtype, the embeddings as the file has them.
std::string memory_text(const Checkpoint& checkpoint) {
  const checkpoint::TextConfig& text = checkpoint.config().text;
  const int64_t embeddings = int64_t{text.vocab_size} * text.hidden_size;
  const int64_t rest = parameter_count(expected_text_tensors(text)) - embeddings;
  return fmt::format("{} with bfloat16, {} with float32, and some for the batch",
                     bytes_text(2 * (rest + embeddings)), bytes_text(4 * rest + 2 * embeddings));
}

std::string parameters_text(const Checkpoint& checkpoint) {
  const int64_t text = parameter_count(expected_text_tensors(checkpoint.config().text));
  const int64_t vision =
      checkpoint.has_vision() ? parameter_count(expected_vision_tensors(*checkpoint.config().vision)) : 0;
  return fmt::format("{}: {} of text, {} of vision", count_text(text + vision), count_text(text),
                     count_text(vision));
}

std::string decision_text(const Checkpoint& checkpoint) {
  const checkpoint::DecisionConfig& decision = checkpoint.decision();
  std::string out =
      line("attention", decision.attention_mode == checkpoint::AttentionMode::kCausal
                            ? "causal"
                            : "noncausal_full_attention: full-attention layers see the whole prompt");
  out += line("prompt limit", decision.max_length
                                  ? fmt::format("{} tokens", *decision.max_length)
                                  : fmt::format("{} tokens (positions of the model)",
                                                checkpoint.config().text.max_position_embeddings));
  out += line("temperature", fmt::format("{}", decision.temperature));
  out += line("answer codes", fmt::format("{}, {} to {}, as the tokenizer gives them", decision.codes.size(),
                                          decision.codes.front(), decision.codes.back()));
  return out;
}

}  // namespace

CLI::App* InspectCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("inspect", "Check a checkpoint and tell what it is");
  model_.add_to(*command);
  add_verify(*command, verify_);
  return command;
}

int InspectCommand::run(const Context& context) {
  const Folder folder = model_.folder(context);
  const auto checkpoint = Checkpoint::open(folder, verify_from(verify_));
  checkpoint::check_answer_codes(checkpoint, text::Tokenizer::load(folder));
  std::string out = folder.path().string() + '\n';
  if (folder.embedded()) out += line("what", std::string(demo::kDescription));
  if (!checkpoint.model_name().empty() || !checkpoint.repo_id().empty())
    out += line("name", fmt::format("{} ({})", checkpoint.model_name(), checkpoint.repo_id()));
  out += line("parameters", parameters_text(checkpoint));
  out += sizes_text(checkpoint);
  out += decision_text(checkpoint);
  out +=
      line("files", fmt::format("{}; {}", bytes_text(bytes_of(folder)), verification_text(folder, verify_)));
  out += line("memory", memory_text(checkpoint));
  context.out.print(out);
  return kSuccess;
}

}  // namespace d3::cli
