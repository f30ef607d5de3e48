// tests/support/golden_answers.h: an executor's answer to a golden question.
#pragma once

#include <vector>

#include "decision/answer.h"
#include "model/executor.h"
#include "support/golden.h"

namespace d3::test {

/// The probabilities of the question's options, asked alone. The question must have its token ids.
inline std::vector<double> golden_probabilities(model::Executor& executor, double temperature,
                                                const GoldenQuestion& question) {
  const std::vector<float> logits = executor.run({{{{}, {question.input_ids}}}});
  decision::Question asked;
  asked.options.resize(question.logits_float32.size());
  return decision::answer_question(asked, logits, temperature).probabilities;
}

}  // namespace d3::test
