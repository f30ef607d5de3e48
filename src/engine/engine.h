// engine/engine.h: the queue in front of an executor, and the one thread that runs it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "decision/request.h"
#include "engine/engine_metrics.h"
#include "engine/media_encoder.h"
#include "engine/prepare.h"
#include "engine/queue.h"
#include "engine/rate.h"
#include "engine/vision_cache.h"
#include "model/executor.h"

namespace d3::engine {

using Clock = std::chrono::steady_clock;

struct EngineOptions {
  int64_t max_batch_tokens = 1024;    ///< tokens of one batch; a longer question runs alone
  bool whole_requests = false;        ///< cut a request only where it alone exceeds a batch (engine/queue.h)
  size_t max_queued_requests = 1024;  ///< accepted and not yet answered; more are refused
  /// Refuse a request when the work before it and its own would take longer than this at the measured speed;
  /// 0: never. Where nothing waits or runs, any request is taken.
  std::chrono::milliseconds max_queue_time{300'000};
  size_t vision_cache_bytes = size_t{512} << 20;  ///< features of images and videos kept across requests
};

/// Where a request's time in the engine went.
struct Timing {
  std::chrono::duration<double> queue{0};    ///< from its arrival to its first batch
  std::chrono::duration<double> forward{0};  ///< all batches that had a question of it
};

/// What became of a request: an answer for every question in order, or an error and no answers.
struct Outcome {
  std::vector<decision::Answer> answers;
  std::exception_ptr error = nullptr;
  Timing timing = {};
};

/// What is in the engine's hands.
struct QueueState {
  size_t requests = 0;         ///< accepted and not yet answered
  int64_t waiting_tokens = 0;  ///< that no batch has taken
  int64_t running_tokens = 0;  ///< of the batch that runs
};

/// Called exactly once for every accepted request, on a thread of the engine's or on the one that cancels.
/// Must be quick and must not throw; it may submit and cancel.
using Done = std::function<void(Outcome)>;

/// All members may be called from any thread. The executor is used by one thread only.
class Engine {
 public:
  /// temperature: the checkpoint's, for decision::answer_question.
  Engine(std::unique_ptr<model::Executor> executor, double temperature, const EngineOptions& options);
  /// Ends what is left with Error(kUnavailable), after the batch that runs.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Queues a request and returns its id. Throws Error(kOverloaded) when the queue is at a limit and
  /// Error(kUnavailable) when draining; `done` is then never called. A request that is not answered at its
  /// deadline ends with kDeadlineExceeded at that moment; its questions that no batch has taken never run.
  uint64_t submit(PreparedRequest request, std::optional<Clock::time_point> deadline, Done done);

  /// Throws what submit would throw for a request however small: to refuse one before it costs anything.
  void check_room() const;

  /// Ends a request with kCancelled; its questions that no batch has taken never run. Does nothing when it
  /// has ended already.
  void cancel(uint64_t id);

  /// Refuses new requests and waits until all accepted ones have ended. False when that took too long; they
  /// then go on.
  bool drain(std::chrono::milliseconds timeout);

  /// How long the waiting and running work will take at the measured speed; zero before the first batch.
  std::chrono::duration<double> queue_time() const;

  QueueState state() const;
  const EngineMetrics& metrics() const { return metrics_; }
  /// Where features of earlier requests' images and videos are.
  VisionCache& vision_cache() { return vision_cache_; }
  const VisionCache& vision_cache() const { return vision_cache_; }

  std::string dtype_name() const { return executor_->dtype_name(); }

 private:
  struct Job {
    PreparedRequest request;
    std::optional<Clock::time_point> deadline;
    Done done;
    Clock::time_point arrival;
    // Written by the engine's thread only:
    bool begun = false;
    Timing timing;
    std::vector<decision::Answer> answers;
    size_t answered = 0;
  };
  struct Work {  // questions [first, first + count) of a job
    uint64_t id;
    std::shared_ptr<Job> job;
    size_t first;
    size_t count;
  };

  void run_batches();
  bool wait_for_batch(std::vector<Work>& batch);
  void begin_batch(std::span<const Work> batch);
  void run(std::span<const Work> batch);
  void encode_media(std::span<const Work> batch);
  std::vector<float> execute(std::span<const Work> batch);
  void deliver(const Work& work, std::span<const float> logits);
  void watch_deadlines();
  bool is_active(uint64_t id) const;
  void end(uint64_t id, Outcome outcome);
  void end_all(const Outcome& outcome);
  void check_limits(int64_t tokens) const;

  const std::unique_ptr<model::Executor> executor_;
  const double temperature_;
  const EngineOptions options_;
  EngineMetrics metrics_;
  VisionCache vision_cache_;
  MediaEncoder media_encoder_;

  mutable std::mutex mutex_;  // guards all below but the threads
  std::condition_variable work_;
  std::condition_variable deadlines_;
  std::condition_variable idle_;
  BatchQueue queue_;
  std::unordered_map<uint64_t, std::shared_ptr<Job>> active_;  // accepted and not ended
  size_t ending_ = 0;                                          // ended, their `done` has not returned
  RateEstimate rate_;
  int64_t running_tokens_ = 0;
  Clock::time_point next_deadline_ = Clock::time_point::max();  // at which watch_deadlines will look again
  uint64_t last_id_ = 0;
  bool draining_ = false;
  bool stopping_ = false;

  std::thread deadline_thread_;
  std::thread batch_thread_;
};

}  // namespace d3::engine
