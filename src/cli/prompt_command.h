// cli/prompt_command.h: `d3 prompt DIR`.
#pragma once

#include <string>

#include "cli/command.h"

namespace d3::cli {

/// A request as JSON in, a line for each question out: {"question":id,"prompt":text,"input_ids":[..]}.
class PromptCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  std::string directory_;
};

}  // namespace d3::cli
