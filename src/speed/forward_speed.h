// speed/forward_speed.h: how fast this machine runs a model's forward pass, beside how fast it multiplies.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cpu/executor.h"
#include "model/batch.h"
#include "speed/product_rate.h"

namespace d3::speed {

/// Multiplications and additions of a forward pass's matrix products, one of each counted as two operations:
/// every layer's, less what the last layer does not need, and attention's own.
struct Work {
  double products = 0;
  double attention = 0;
  double total() const { return products + attention; }
};

/// Of one question of that many tokens, nothing shared.
Work work_of(const checkpoint::TextConfig& config, bool causal, double tokens);

struct Rounds {
  int count = 5;
  bool warm_up = true;   ///< a pass before them without the clock: buffers are made, pages are touched
  bool products = true;  ///< oneDNN's products after each pass
};

/// One line of the table; times are medians of the rounds.
struct PassSpeed {
  int64_t tokens = 0;
  int questions = 1;
  double seconds = 0;
  double flops = 0;                         ///< operations a second of the pass
  double product_rate = 0;                  ///< of oneDNN alone at this row count, between the passes
  double ratio = 0;                         ///< flops / product_rate, of each round
  std::vector<model::PartTime> parts = {};  ///< of all rounds together
};

/// What running shared prefixes and the last layer's read tokens only once saves; see model::ExecutorOptions.
struct Saving {
  double seconds = 0;       ///< median, with both savings
  double full_seconds = 0;  ///< median, with neither, in turns
  double rows_share = 0;    ///< rows that went through layers, of those without the savings
};

/// Runs passes of random token ids. Products and passes alternate, so that both see the same machine.
class ForwardSpeed {
 public:
  /// Loads the model; throws as cpu::make_executor does. The checkpoint must outlive it.
  ForwardSpeed(const checkpoint::Checkpoint& checkpoint, const cpu::ExecutorOptions& options);
  ~ForwardSpeed();

  /// One question of that many tokens.
  PassSpeed single(int tokens, const Rounds& rounds);

  /// Questions of all those lengths in one batch, nothing shared between them.
  PassSpeed packed(std::span<const int> lengths, const Rounds& rounds);

  /// One request: `questions` questions of `question_tokens` each after a common state.
  Saving shared_state(int state_tokens, int questions, int question_tokens, int rounds);

  double load_seconds() const { return load_seconds_; }

  /// What PassSpeed::product_rate multiplies; see ProductRate.
  cpu::Dtype product_dtype() const { return products_.dtype(); }

 private:
  void fill_ids(std::span<const int> lengths);
  PassSpeed measure(const model::PackedBatch& batch, const Work& work, const Rounds& rounds);

  const checkpoint::Checkpoint& checkpoint_;
  std::unique_ptr<model::Executor> executor_;
  ProductRate products_;
  double load_seconds_ = 0;
  std::vector<std::vector<int32_t>> ids_;  // what a batch refers to
};

/// The mixed batch of the table: 64 questions of 60 to 200 tokens, the same ones every time.
std::vector<int> mixed_lengths();

}  // namespace d3::speed
