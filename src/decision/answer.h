// decision/answer.h: logits -> Answer.
#pragma once

#include <span>

#include "decision/request.h"

namespace d3::decision {

/// p = softmax(logits[:options] / temperature) over the question's options.
/// logits: at least question.options.size() values of the readout, fp32. temperature > 0.
Answer answer_question(const Question& question, std::span<const float> logits, double temperature);

}  // namespace d3::decision
