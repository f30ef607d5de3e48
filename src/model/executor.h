// model/executor.h: the face every device's executor shows to engine/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/batch.h"

namespace d3::model {

/// Number of answer codes, the readout's rows.
inline constexpr int kAnswerCodes = 255;

/// Savings that never change an answer; off only to measure them or to test that they do not.
struct ExecutorOptions {
  bool share_prefixes = true;  ///< run leading causal layers once per shared prefix
  bool cut_last_layer = true;  ///< run the last layer only for the tokens that are read
};

/// Work done since the executor was made.
struct ExecutorCounters {
  uint64_t batches = 0;
  uint64_t questions = 0;
  uint64_t tokens = 0;           ///< of all questions, shared prefixes counted for each
  uint64_t layer_rows = 0;       ///< rows that went through a layer's mixer and MLP, summed over layers
  uint64_t layer_rows_full = 0;  ///< the same without the savings of ExecutorOptions
};

/// Runs batches of one model on one device. Not thread-safe: one thread calls run at a time.
class Executor {
 public:
  virtual ~Executor() = default;

  /// The readout's logits at the last token of every question, fp32 [question_count, 255] row-major, in the
  /// order of groups and tails. A question's logits do not depend on what else is in the batch (but for
  /// rounding). Throws Error(kInvalidArgument) when a token id is outside the vocabulary.
  virtual std::vector<float> run(const PackedBatch& batch) = 0;

  virtual void set_options(const ExecutorOptions&) {}
  virtual ExecutorCounters counters() const { return {}; }

  /// "bfloat16", "float32", "int8".
  virtual std::string dtype_name() const = 0;
};

}  // namespace d3::model
