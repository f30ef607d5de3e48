// cli/bench_command.h: `d3 bench MODEL`.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cli/command.h"
#include "cli/model_source.h"
#include "cpu/executor.h"

namespace d3::cli {

/// How fast this machine answers, beside how fast it multiplies, and which --dtype and --threads to choose.
class BenchCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  int run(const Context& context) override;

 private:
  /// Tokens a second at the measure's prompt length.
  struct Result {
    cpu::Dtype dtype = cpu::Dtype::kBfloat16;
    int threads = 0;
    double tokens_per_second = 0;
  };

  Result run_dtype(const checkpoint::Checkpoint& checkpoint, const cpu::ExecutorOptions& options,
                   const Context& context) const;
  Result try_threads(const checkpoint::Checkpoint& checkpoint, cpu::ExecutorOptions options, Result best,
                     const Context& context) const;

  ModelSource model_;
  std::vector<std::string> dtypes_ = {"bfloat16", "int8"};
  std::vector<int> lengths_ = {64, 128, 256, 512, 1024};
  int threads_ = 0;
  int rounds_ = 5;
};

}  // namespace d3::cli
