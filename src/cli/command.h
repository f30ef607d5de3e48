// cli/command.h: a subcommand of d3.
#pragma once

#include "cli/cli11.h"
#include "cli/context.h"

namespace d3::cli {

class Command {
 public:
  virtual ~Command() = default;
  /// Adds the subcommand with its options; they are filled in when the line is parsed.
  virtual CLI::App* add_to(CLI::App& app) = 0;
  /// Returns the exit code. Throws UsageError for options that do not fit together, Error for the rest.
  virtual int run(const Context& context) = 0;
};

/// The command line cannot be understood: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;

}  // namespace d3::cli
