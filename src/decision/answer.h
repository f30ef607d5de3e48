// decision/answer.h: logits -> Answer.
#pragma once

#include <span>

#include "decision/request.h"

namespace d3::decision {

/// p = softmax(logits[:options] / temperature) over the question's options.
/// logits: at least question.options.size() values of the readout, fp32. temperature > 0. As in the reference
/// (torch.softmax of float32, then double), a probability is a float32 value. Throws Error(kInternal) for a
/// logit that is not finite.
Answer answer_question(const Question& question, std::span<const float> logits, double temperature);

/// A score's value: the sum of i * p_i over its levels.
double expected_level(const Answer& answer);

}  // namespace d3::decision
