#include "speed/forward_speed.h"

#include <algorithm>
#include <random>

#include "cpu/part_clock.h"

namespace d3::speed {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool is_causal(const checkpoint::Checkpoint& checkpoint) {
  return checkpoint.decision().attention_mode == checkpoint::AttentionMode::kCausal;
}

/// What of `after` came since `before`.
std::vector<model::PartTime> difference(const std::vector<model::PartTime>& before,
                                        std::vector<model::PartTime> after) {
  for (size_t i = 0; i < after.size(); ++i) {
    after[i].seconds -= before[i].seconds;
    after[i].product_seconds -= before[i].product_seconds;
  }
  return after;
}

}  // namespace

Work work_of(const checkpoint::TextConfig& config, bool causal, double tokens) {
  Work work;
  const double hidden = config.hidden_size;
  const double mlp = 3.0 * hidden * config.intermediate_size;
  const double heads = static_cast<double>(config.num_attention_heads) * config.head_dim;
  const double kv = static_cast<double>(config.num_key_value_heads) * config.head_dim;
  const double value = static_cast<double>(config.linear_num_value_heads) * config.linear_value_head_dim;
  const double key = static_cast<double>(config.linear_num_key_heads) * config.linear_key_head_dim;
  for (size_t i = 0; i < config.layer_types.size(); ++i) {
    const bool full = config.layer_types[i] == checkpoint::LayerType::kFullAttention;
    const bool last = i + 1 == config.layer_types.size();
    const double always =
        full ? 2 * kv * hidden : (2 * key + value + 2 * config.linear_num_value_heads) * hidden;
    const double for_output = (full ? 3 * heads * hidden : 2 * value * hidden) + mlp;
    work.products += 2 * (always * tokens + for_output * (last ? 1 : tokens));
    if (full) work.attention += 4 * heads * tokens * (last ? 1 : tokens) * (causal && !last ? 0.5 : 1);
  }
  return work;
}

std::vector<int> mixed_lengths() {
  std::mt19937 random(1);
  std::vector<int> lengths(64);
  for (int& length : lengths) length = 60 + static_cast<int>(random() % 141);
  return lengths;
}

ForwardSpeed::ForwardSpeed(const checkpoint::Checkpoint& checkpoint, const cpu::ExecutorOptions& options)
    : checkpoint_(checkpoint),
      products_(text_products(checkpoint.config().text), options.dtype, options.threads) {
  const cpu::Stopwatch watch;
  executor_ = cpu::make_executor(checkpoint, options);
  load_seconds_ = watch.seconds();
}

ForwardSpeed::~ForwardSpeed() = default;

void ForwardSpeed::fill_ids(std::span<const int> lengths) {
  std::mt19937 random(1);
  const auto vocab_size = static_cast<unsigned>(checkpoint_.config().text.vocab_size);
  ids_.clear();
  for (const int length : lengths) {
    std::vector<int32_t>& ids = ids_.emplace_back(static_cast<size_t>(length));
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % vocab_size);
  }
}

PassSpeed ForwardSpeed::single(int tokens, const Rounds& rounds) {
  return packed(std::span(&tokens, 1), rounds);
}

PassSpeed ForwardSpeed::packed(std::span<const int> lengths, const Rounds& rounds) {
  fill_ids(lengths);
  model::PackedBatch batch;
  Work work;
  for (const std::vector<int32_t>& ids : ids_) {
    batch.groups.push_back({{}, {ids}});
    const Work question =
        work_of(checkpoint_.config().text, is_causal(checkpoint_), static_cast<double>(ids.size()));
    work.products += question.products;
    work.attention += question.attention;
  }
  return measure(batch, work, rounds);
}

PassSpeed ForwardSpeed::measure(const model::PackedBatch& batch, const Work& work, const Rounds& rounds) {
  PassSpeed speed{.tokens = batch.token_count(), .questions = static_cast<int>(batch.question_count())};
  if (rounds.warm_up) executor_->run(batch);
  const std::vector<model::PartTime> before = executor_->part_times();
  std::vector<double> passes, rates, ratios;
  for (int round = 0; round < rounds.count; ++round) {
    const cpu::Stopwatch watch;
    executor_->run(batch);
    passes.push_back(watch.seconds());
    if (!rounds.products) continue;
    rates.push_back(products_.flops_per_second(static_cast<int>(speed.tokens)));
    ratios.push_back(work.total() / passes.back() / rates.back());
  }
  speed.seconds = median(passes);
  speed.flops = work.total() / speed.seconds;
  if (rounds.products) {
    speed.product_rate = median(rates);
    speed.ratio = median(ratios);
  }
  speed.parts = difference(before, executor_->part_times());
  return speed;
}

Saving ForwardSpeed::shared_state(int state_tokens, int questions, int question_tokens, int rounds) {
  std::vector<int> lengths(static_cast<size_t>(questions) + 1, question_tokens);
  lengths.front() = state_tokens;
  fill_ids(lengths);
  model::PackedBatch batch{{{.prefix = ids_.front(), .tails = {}}}};
  for (size_t i = 1; i < ids_.size(); ++i) batch.groups.front().tails.emplace_back(ids_[i]);
  const model::ExecutorOptions without{.share_prefixes = false, .cut_last_layer = false};
  std::vector<double> passes, full_passes;
  Saving saving;
  for (int round = 0; round <= rounds; ++round) {
    const cpu::Stopwatch full_watch;
    executor_->set_options(without);
    executor_->run(batch);
    const double full_seconds = full_watch.seconds();
    const model::ExecutorCounters before = executor_->counters();
    const cpu::Stopwatch watch;
    executor_->set_options({});
    executor_->run(batch);
    const double seconds = watch.seconds();
    const model::ExecutorCounters after = executor_->counters();
    saving.rows_share = static_cast<double>(after.layer_rows - before.layer_rows) /
                        static_cast<double>(after.layer_rows_full - before.layer_rows_full);
    if (round == 0) continue;  // buffers are made, pages are touched
    full_passes.push_back(full_seconds);
    passes.push_back(seconds);
  }
  saving.seconds = median(passes);
  saving.full_seconds = median(full_passes);
  return saving;
}

}  // namespace d3::speed
