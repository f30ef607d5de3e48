// cli/doctor_command.h: `d3 doctor`.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace d3::cli {

/// One thing that was looked at.
struct Finding {
  enum class State { kGood, kSlow, kBad };
  std::string name;       ///< "memory"
  std::string value;      ///< what is there
  std::string note = {};  ///< what it means, where it is not as it should be
  State state = State::kGood;
};

class DoctorCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  /// Fails when something is so that models cannot be run or kept.
  int run(const Context& context) override;

 private:
  bool json_ = false;
  bool network_ = false;
  std::string model_ = "d3-nano";
};

}  // namespace d3::cli
