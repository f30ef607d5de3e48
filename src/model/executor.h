// model/executor.h: the face every device's executor shows to engine/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/batch.h"

namespace d3::model {

/// Number of answer codes, the readout's rows.
inline constexpr int kAnswerCodes = 255;

/// Runs batches of one model on one device. Not thread-safe: one thread calls run at a time.
class Executor {
 public:
  virtual ~Executor() = default;

  /// The readout's logits at the last token of every question, fp32 [question_count, 255] row-major, in the
  /// order of groups and tails. A question's logits do not depend on what else is in the batch (but for
  /// rounding). Throws Error(kInvalidArgument) when a token id is outside the vocabulary.
  virtual std::vector<float> run(const PackedBatch& batch) = 0;

  /// "bfloat16", "float32", "int8".
  virtual std::string dtype_name() const = 0;
};

}  // namespace d3::model
