// cli/batch_command.h: `d3 batch MODEL`.
#pragma once

#include <string>
#include <vector>

#include "cli/batch.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace d3::cli {

class BatchCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  void add_table_options(CLI::App& app);
  bool is_table() const { return !questions_.empty(); }
  char delimiter() const;
  void check_options() const;
  engine::LoadOptions load_options(const Context& context) const;

  ModelOptions model_;
  std::string input_;
  std::string output_;
  bool restart_ = false;
  std::string questions_;  ///< a file
  std::vector<std::string> state_columns_;
  std::string delimiter_;  ///< as typed
  bool probabilities_ = false;
};

}  // namespace d3::cli
