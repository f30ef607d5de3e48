// cli/hub_commands.h: `d3 pull`, `d3 list` and `d3 rm`.
#pragma once

#include <string>

#include "cli/command.h"

namespace d3::cli {

/// Prints the directory.
class PullCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  std::string model_;
  std::string revision_;
};

class ListCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  bool names_ = false;
};

class RemoveCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  std::string model_;
  std::string revision_;
};

}  // namespace d3::cli
