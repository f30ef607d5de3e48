#include "base/thread_pool.h"

#include <algorithm>

#include <sched.h>

namespace d3 {
namespace {

// Loops follow each other within microseconds during a forward pass, so a worker spins this many times before
// it sleeps; one pause is some 40 to 140 cycles, together well under a tenth of a millisecond.
constexpr int kSpins = 2000;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

void pin_to_allowed_cpu(int index) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

}  // namespace

int available_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
  return std::max(1U, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(Options options) {
  const int threads = options.threads > 0 ? options.threads : available_cpus();
  workers_.reserve(static_cast<size_t>(threads - 1));
  for (int worker = 1; worker < threads; ++worker)
    workers_.emplace_back([this, worker, options] { worker_loop(worker, options); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::parallel_for(size_t items, const std::function<void(size_t, int)>& body) {
  if (items == 0) return;
  body_ = &body;
  items_ = items;
  next_.store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  const bool alone = workers_.empty() || items == 1;
  if (!alone) {
    running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
  }
  take_items(0);
  // The others finish within one item's time; on a machine with other work they may first have to get a CPU.
  for (int spin = 0; !alone && running_.load(std::memory_order_acquire) > 0; ++spin) {
    if (spin < kSpins)
      pause_briefly();
    else
      std::this_thread::yield();
  }
  if (failed_.load(std::memory_order_acquire)) {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      std::swap(error, error_);
    }
    std::rethrow_exception(error);
  }
}

void ThreadPool::take_items(int worker) {
  for (size_t item = next_.fetch_add(1, std::memory_order_relaxed); item < items_;
       item = next_.fetch_add(1, std::memory_order_relaxed)) {
    if (failed_.load(std::memory_order_relaxed)) return;
    try {
      (*body_)(item, worker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      failed_.store(true, std::memory_order_release);
    }
  }
}

void ThreadPool::worker_loop(int worker, const Options& options) {
  if (options.pin) pin_to_allowed_cpu(worker);
  if (options.on_start) options.on_start(worker);
  uint64_t seen = 0;
  for (;;) {
    for (int spin = 0; spin < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spin)
      pause_briefly();
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
      seen = generation_.load(std::memory_order_acquire);
      if (stopping_) return;
    }
    take_items(worker);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace d3
