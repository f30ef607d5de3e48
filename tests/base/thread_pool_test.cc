#include "base/thread_pool.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace d3 {
namespace {

TEST(ThreadPool, RunsEveryItemOnceOnValidWorkers) {
  ThreadPool pool({.threads = 4});
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<int>> counts(37);
    pool.parallel_for(counts.size(), [&](size_t item, int worker) {
      EXPECT_GE(worker, 0);
      EXPECT_LT(worker, 4);
      counts[item].fetch_add(1);
    });
    for (const auto& count : counts) EXPECT_EQ(count.load(), 1);
  }
}

TEST(ThreadPool, ThrowsTheBodysErrorAndGoesOn) {
  ThreadPool pool({.threads = 3});
  EXPECT_THROW(pool.parallel_for(8,
                                 [](size_t item, int) {
                                   if (item == 3) throw std::runtime_error("item 3");
                                 }),
               std::runtime_error);
  std::atomic<int> done{0};
  pool.parallel_for(8, [&](size_t, int) { done.fetch_add(1); });
  EXPECT_EQ(done.load(), 8);
}

TEST(ThreadPool, RunsStartHookInEveryCreatedWorker) {
  std::atomic<int> started{0};
  {
    ThreadPool pool({.threads = 3, .pin = true, .on_start = [&](int) { started.fetch_add(1); }});
  }
  EXPECT_EQ(started.load(), 2);
}

}  // namespace
}  // namespace d3
