// cli/describe_commands.h: `d3 completion SHELL` and `d3 man`.
#pragma once

#include <string>

#include "cli/command.h"

namespace d3::cli {

class CompletionCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  const CLI::App* app_ = nullptr;
  std::string shell_;
};

class ManualCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  const CLI::App* app_ = nullptr;
};

}  // namespace d3::cli
