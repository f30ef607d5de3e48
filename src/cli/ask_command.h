// cli/ask_command.h: `d3 ask MODEL`.
#pragma once

#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/media_files.h"
#include "cli/model_options.h"
#include "cli/question_options.h"

namespace d3::cli {

class AskCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  std::string body(const Context& context) const;
  std::string state(const Context& context) const;

  ModelOptions model_;
  QuestionOptions questions_;
  MediaFiles media_;
  std::optional<std::string> state_;
  std::optional<std::string> request_;
  bool json_ = false;
};

}  // namespace d3::cli
