#include "engine/engine_metrics.h"

namespace d3::engine {

void EngineMetrics::add_batch(const model::PackedBatch& batch, std::chrono::duration<double> taken) {
  const auto question_count = static_cast<uint64_t>(batch.question_count());
  const auto token_count = static_cast<uint64_t>(batch.token_count());
  questions.add(question_count);
  tokens.add(token_count);
  for (const model::QuestionGroup& group : batch.groups) {
    if (group.prefix.empty() || group.tails.size() < 2) continue;
    prefix_hits.add(group.tails.size() - 1);
    prefix_tokens.add((group.tails.size() - 1) * group.prefix.size());
  }
  batch_seconds.observe(taken.count());
  batch_questions.observe(static_cast<double>(question_count));
  batch_tokens.observe(static_cast<double>(token_count));
}

}  // namespace d3::engine
