// cpu/executor.h: the executor for CPUs.
#pragma once

#include <functional>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "model/executor.h"

namespace d3::cpu {

enum class Dtype { kFloat32, kBfloat16, kInt8 };

struct ExecutorOptions {
  Dtype dtype = Dtype::kBfloat16;
  int threads = 0;  ///< 0: every CPU the process may use
  /// Called from the loading thread with the share of the weights packed so far, 0 to 1.
  std::function<void(double)> on_progress = {};
};

/// Packs the weights for this machine. The checkpoint must outlive the executor (embeddings stay mapped).
std::unique_ptr<model::Executor> make_executor(const checkpoint::Checkpoint& checkpoint,
                                               const ExecutorOptions& options);

}  // namespace d3::cpu
