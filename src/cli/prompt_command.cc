#include "cli/prompt_command.h"

#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "checkpoint/config.h"
#include "cli/input.h"
#include "decision/validation.h"
#include "engine/prepare.h"
#include "json/parse.h"
#include "json/write.h"
#include "text/tokenizer.h"

namespace d3::cli {
namespace {

/// None where the model reads no media.
std::optional<engine::MediaParts> media_parts(const Folder& folder) {
  const checkpoint::Config config = checkpoint::read_config(folder);
  if (!config.vision) return std::nullopt;
  return engine::MediaParts{.tokens = engine::media_tokens(config)};
}

}  // namespace

CLI::App* PromptCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("prompt", "Print what the model reads for a request");
  model_.add_to(*command);
  media_.add_to(*command);
  command->footer(
      "Reads a request as POST /v1/systemone takes it from standard input and writes a JSON object a line "
      "for\n"
      "each question: its id, the prompt as text, and its token ids. Works without the weights.\n"
      "Example: d3 prompt ./nano < request.json");
  return command;
}

int PromptCommand::run(const Context& context) {
  const Folder folder = model_.folder(context);
  const auto tokenizer = text::Tokenizer::load(folder);
  const engine::Preparer preparer([&](std::string_view text) { return tokenizer.encode(text); },
                                  checkpoint::read_decision_config(folder).codes, std::nullopt,
                                  media_parts(folder));
  const auto request = std::make_shared<decision::Request>(
      decision::parse_request(json::parse(read_all(context.in, "standard input"))));
  media_.append_to(*request);
  const engine::PreparedRequest prepared = preparer.prepare(request);
  for (size_t i = 0; i < request->questions.size(); ++i) {
    std::string line = R"({"question":)";
    json::append_string(line, request->questions[i].id);
    line += R"(,"prompt":)";
    json::append_string(line, preparer.prompt_text(*request, i));
    std::vector<int32_t> ids = prepared.head;
    ids.insert(ids.end(), prepared.tails[i].begin(), prepared.tails[i].end());
    line += fmt::format(R"(,"input_ids":[{}]}})", fmt::join(ids, ",")) + '\n';
    context.out.print(line);
  }
  return kSuccess;
}

}  // namespace d3::cli
