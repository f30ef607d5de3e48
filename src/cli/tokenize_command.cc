#include "cli/tokenize_command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "cli/input.h"
#include "json/parse.h"
#include "text/tokenizer.h"

namespace d3::cli {

CLI::App* TokenizeCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenize", "Print the token ids of texts");
  model_.add_to(*command);
  command->footer(
      "Reads one JSON string a line from standard input and writes one JSON array of ids a line.\n"
      "Example: echo '\"Hello\"' | d3 tokenize ./nano");
  return command;
}

int TokenizeCommand::run(const Context& context) {
  const auto tokenizer = text::Tokenizer::load(model_.folder(context));
  size_t number = 0;
  for_each_line(context.in, [&](const std::string& line) {
    ++number;
    const json::Value value = json::parse(line);
    if (!value.is_string())
      throw Error(ErrorCode::kInvalidArgument, fmt::format("line {}: is no JSON string", number));
    context.out.print(fmt::format("[{}]\n", fmt::join(tokenizer.encode(value.as_string()), ",")));
  });
  return kSuccess;
}

}  // namespace d3::cli
