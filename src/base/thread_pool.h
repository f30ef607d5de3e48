// base/thread_pool.h: the one pool that computes. Workers are created once and pinned; a batch creates no
// thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace d3 {

/// Runs loops of independent items over a fixed set of workers. The thread that calls parallel_for is worker
/// 0; a pool of size 1 creates no thread. One parallel_for at a time; calls must not nest.
class ThreadPool {
 public:
  struct Options {
    int threads = 0;   ///< 0: as many as the process may run on
    bool pin = false;  ///< bind worker i to the i-th allowed CPU (worker 0, the caller, is left alone)
    std::function<void(int worker)> on_start = {};  ///< run once in every created worker before its first item
  };

  explicit ThreadPool(Options options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(item, worker) for every item in [0, items), handing items out one by one in order. Returns
  /// when all are done. The first exception thrown by a body is thrown again here, after the loop has ended;
  /// items not yet begun are then skipped.
  void parallel_for(size_t items, const std::function<void(size_t item, int worker)>& body);

 private:
  void worker_loop(int worker, const Options& options);
  void take_items(int worker);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_{0};  // advanced under mutex_ when a loop begins or the pool stops
  std::atomic<int> running_{0};          // workers that have not finished the current loop
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  size_t items_ = 0;
  const std::function<void(size_t, int)>* body_ = nullptr;
  std::exception_ptr error_;  // guarded by mutex_
  bool stopping_ = false;
};

/// The number of CPUs this process may run on (its affinity mask, not the machine's count).
int available_cpus();

}  // namespace d3
