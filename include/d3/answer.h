// d3/answer.h: what a model answers. Plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "d3/request.h"

namespace d3 {

/// An option and how probable the model finds it, 0 to 1; those of a question sum to 1 (but for rounding).
struct OptionProbability {
  std::string key;  ///< a choice's key; "false" and "true" of a noul; "0", "1", .. of a score
  double probability = 0;
};

struct Answer {
  std::string id;  ///< the question's
  QuestionType type = QuestionType::kChoice;
  std::vector<OptionProbability> options;  ///< in the question's order; a noul: false, then true
  std::size_t best = 0;                    ///< the first of the most probable

  /// The key of the best option.
  const std::string& decision() const { return options[best].key; }
  /// The best option's probability.
  double confidence() const { return options[best].probability; }
  /// Of a noul: how probable it is that it is true.
  double truth() const { return options.back().probability; }
  /// Of a score: the mean level, the sum of i * p_i.
  double score() const {
    double sum = 0;
    for (std::size_t i = 0; i < options.size(); ++i) sum += static_cast<double>(i) * options[i].probability;
    return sum;
  }
};

/// The answers to a request.
struct Reply {
  std::vector<Answer> answers;                    ///< one for each question, in order
  std::int64_t input_tokens = 0;                  ///< of all questions' prompts, as if they shared nothing
  std::chrono::duration<double> queue_time{0};    ///< from being queued to the first batch
  std::chrono::duration<double> compute_time{0};  ///< of all batches with a question of it

  /// The answer to the question of that id; null when there is none.
  const Answer* find(std::string_view id) const {
    for (const Answer& answer : answers)
      if (answer.id == id) return &answer;
    return nullptr;
  }
};

}  // namespace d3
