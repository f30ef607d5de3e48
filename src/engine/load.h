// engine/load.h: a checkpoint -> a DecisionModel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/folder.h"
#include "checkpoint/checkpoint.h"
#include "cpu/executor.h"
#include "engine/decision_model.h"

namespace d3::engine {

struct LoadOptions {
  Folder directory;
  checkpoint::Verify verify = checkpoint::Verify::kFast;
  cpu::Dtype dtype = cpu::Dtype::kBfloat16;
  int threads = 0;                    ///< 0: every CPU the process may use
  std::string cpu_target = {};        ///< as cpu::ExecutorOptions has it
  std::optional<int64_t> max_length;  ///< instead of the checkpoint's own
  EngineOptions engine;
  MediaLoaderOptions media;
  /// Called from the loading thread with the share of the weights packed so far, 0 to 1.
  std::function<void(double)> on_progress = {};
};

/// Opens and checks the checkpoint, its tokenizer and its answer codes, and packs the weights. Throws
/// Error(kBadCheckpoint), or Error(kNotFound) when there is no such directory.
std::unique_ptr<DecisionModel> load_model(const LoadOptions& options);

}  // namespace d3::engine
