// cli/inspect_command.h: `d3 inspect MODEL`.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/model_source.h"

namespace d3::cli {

class InspectCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  ModelSource model_;
  std::string verify_ = "fast";
};

}  // namespace d3::cli
