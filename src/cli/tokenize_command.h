// cli/tokenize_command.h: `d3 tokenize MODEL`.
#pragma once

#include "cli/command.h"
#include "cli/model_source.h"

namespace d3::cli {

/// One JSON string a line in, one JSON array of token ids a line out.
class TokenizeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  ModelSource model_;
};

}  // namespace d3::cli
