// cli/batch_command.h: `d3 batch MODEL`.
#pragma once

#include <string>

#include "cli/batch.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace d3::cli {

class BatchCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  engine::LoadOptions load_options(const Context& context) const;

  ModelOptions model_;
  std::string input_;
  std::string output_;
  bool restart_ = false;
};

}  // namespace d3::cli
