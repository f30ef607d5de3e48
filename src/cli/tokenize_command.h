// cli/tokenize_command.h: `d3 tokenize DIR`.
#pragma once

#include <string>

#include "cli/command.h"

namespace d3::cli {

/// One JSON string a line in, one JSON array of token ids a line out.
class TokenizeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  std::string directory_;
};

}  // namespace d3::cli
