// An executor whose logits are a hash of the question's tokens and media: quick, and any mix-up of sequences
// shows.
#pragma once

#include <bit>
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

/// FNV-1a of 32-bit numbers.
class FakeHash {
 public:
  void add(uint32_t number) { value_ = (value_ ^ number) * 0x100000001b3ULL; }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325ULL;
};

inline constexpr size_t kFakeHiddenSize = 3;

/// What the fake vision tower makes of an image or video: numbers that depend on all its pixels and on the
/// token.
inline model::MediaFeatures fake_features(const media::Pixels& pixels) {
  FakeHash hash;
  for (const uint8_t byte : pixels.rgb) hash.add(byte);
  const int pairs = pixels.is_video() ? pixels.frames / 2 : 1;
  model::MediaFeatures features(static_cast<size_t>(pairs) * static_cast<size_t>(pixels.height / 32) *
                                static_cast<size_t>(pixels.width / 32) * kFakeHiddenSize);
  for (float& feature : features) {
    hash.add(1);
    feature = static_cast<float>(hash.value() >> 40U);
  }
  return features;
}

/// The logits of one sequence, each in [-8, 8).
inline std::vector<float> fake_logits(std::span<const int32_t> prefix, std::span<const int32_t> tail,
                                      std::span<const model::MediaBlock> media = {}) {
  FakeHash inputs;
  for (const auto part : {prefix, tail})
    for (const int32_t id : part) inputs.add(static_cast<uint32_t>(id));
  for (const model::MediaBlock& block : media) {
    inputs.add(static_cast<uint32_t>(block.first));
    inputs.add(static_cast<uint32_t>(block.rows));
    const size_t count = static_cast<size_t>(block.tokens()) * kFakeHiddenSize;
    for (const float feature : std::span(block.features, count)) inputs.add(std::bit_cast<uint32_t>(feature));
  }
  uint64_t hash = inputs.value();
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
  /// Images and videos that went through the vision tower, for every call of it.
  std::vector<size_t> encoded() const {
    const std::lock_guard lock(mutex_);
    return encoded_;
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
  std::vector<size_t> encoded_;
};

class FakeExecutor : public model::Executor {
 public:
  explicit FakeExecutor(std::shared_ptr<FakeExecutorControl> control) : control_(std::move(control)) {}

  std::vector<float> run(const model::PackedBatch& batch) override {
    control_->enter(batch);
    std::vector<float> logits;
    for (const auto& group : batch.groups)
      for (const auto& tail : group.tails) {
        const std::vector<float> row = fake_logits(group.prefix, tail, group.media);
        logits.insert(logits.end(), row.begin(), row.end());
      }
    return logits;
  }

  bool has_vision() const override { return true; }

  std::vector<model::MediaFeatures> encode_media(std::span<const media::Pixels* const> media) override {
    {
      const std::lock_guard lock(control_->mutex_);
      control_->encoded_.push_back(media.size());
    }
    std::vector<model::MediaFeatures> features;
    for (const media::Pixels* pixels : media) features.push_back(fake_features(*pixels));
    return features;
  }

  std::string dtype_name() const override { return "fake"; }

 private:
  std::shared_ptr<FakeExecutorControl> control_;
};

}  // namespace d3::test
