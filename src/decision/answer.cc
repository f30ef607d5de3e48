#include "decision/answer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace d3::decision {

Answer answer_question(const Question& question, std::span<const float> logits, double temperature) {
  const size_t count = question.options.size();
  if (logits.size() < count) throw Error(ErrorCode::kInternal, "fewer logits than options", question.id);
  if (!std::ranges::all_of(logits.first(count), [](float logit) { return std::isfinite(logit); }))
    throw Error(ErrorCode::kInternal, "the model's output is not finite", question.id);

  std::vector<float> scaled(count);
  for (size_t i = 0; i < count; ++i) scaled[i] = logits[i] / static_cast<float>(temperature);
  const double largest = *std::ranges::max_element(scaled);
  double sum = 0.0;
  Answer answer;
  answer.probabilities.resize(count);
  for (size_t i = 0; i < count; ++i) sum += answer.probabilities[i] = std::exp(scaled[i] - largest);
  for (double& p : answer.probabilities) p = static_cast<double>(static_cast<float>(p / sum));
  answer.best =
      static_cast<size_t>(std::ranges::max_element(answer.probabilities) - answer.probabilities.begin());
  return answer;
}

double expected_level(const Answer& answer) {
  double sum = 0.0;
  for (size_t i = 0; i < answer.probabilities.size(); ++i)
    sum += static_cast<double>(i) * answer.probabilities[i];
  return sum;
}

}  // namespace d3::decision
