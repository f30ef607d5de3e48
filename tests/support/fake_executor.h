// An executor whose logits are a hash of the question's tokens: quick, and any mix-up of sequences shows.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/executor.h"

namespace d3::test {

/// The logits of one sequence, each in [-8, 8).
inline std::vector<float> fake_logits(std::span<const int32_t> prefix, std::span<const int32_t> tail) {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const auto part : {prefix, tail})
    for (const int32_t id : part) hash = (hash ^ static_cast<uint32_t>(id)) * 0x100000001b3ULL;
  std::vector<float> logits(model::kAnswerCodes);
  for (float& logit : logits) {
    hash = hash * 6364136223846793005ULL + 1442695040888963407ULL;
    logit = static_cast<float>(hash >> 40U) / static_cast<float>(1U << 20U) - 8.0F;
  }
  return logits;
}

/// What a test sees and steers of a FakeExecutor that the engine owns.
class FakeExecutorControl {
 public:
  /// run() waits from now on until open(); a closed gate holds the engine's thread.
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Waits until run() has been entered `count` times in all.
  void wait_for_runs(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return batches_.size() >= count; });
  }
  /// For every run so far, in order, the last token of each question: a name for it.
  std::vector<std::vector<int32_t>> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  /// A batch with this token in it fails.
  void fail_on(int32_t token) {
    const std::lock_guard lock(mutex_);
    poison_ = token;
  }

 private:
  friend class FakeExecutor;

  void enter(const model::PackedBatch& batch) {
    std::unique_lock lock(mutex_);
    std::vector<int32_t> names;
    bool poisoned = false;
    for (const auto& group : batch.groups)
      for (const auto& tail : group.tails) {
        names.push_back(tail.back());
        for (const int32_t id : tail) poisoned |= id == poison_;
      }
    batches_.push_back(std::move(names));
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    if (poisoned) throw std::runtime_error("poisoned batch");
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int32_t poison_ = -1;
  std::vector<std::vector<int32_t>> batches_;
};

class FakeExecutor : public model::Executor {
 public:
  explicit FakeExecutor(std::shared_ptr<FakeExecutorControl> control) : control_(std::move(control)) {}

  std::vector<float> run(const model::PackedBatch& batch) override {
    control_->enter(batch);
    std::vector<float> logits;
    for (const auto& group : batch.groups)
      for (const auto& tail : group.tails) {
        const std::vector<float> row = fake_logits(group.prefix, tail);
        logits.insert(logits.end(), row.begin(), row.end());
      }
    return logits;
  }

  std::string dtype_name() const override { return "fake"; }

 private:
  std::shared_ptr<FakeExecutorControl> control_;
};

}  // namespace d3::test
