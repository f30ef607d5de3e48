// bench/constant_executor.h: an executor that computes nothing, so that only what is around it is measured.
#pragma once

#include <string>
#include <vector>

#include "model/executor.h"

namespace d3::bench {

/// Every question gets the same logits, at once.
class ConstantExecutor : public model::Executor {
 public:
  std::vector<float> run(const model::PackedBatch& batch) override {
    std::vector<float> logits(static_cast<size_t>(batch.question_count()) * model::kAnswerCodes);
    for (size_t i = 0; i < logits.size(); ++i)
      logits[i] = static_cast<float>(i % model::kAnswerCodes) * 0.01F;
    return logits;
  }
  std::string dtype_name() const override { return "constant"; }
};

}  // namespace d3::bench
