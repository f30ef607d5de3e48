#include "engine/queue.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace d3::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int64_t> questions(size_t count, int64_t tokens) { return std::vector<int64_t>(count, tokens); }

TEST(BatchQueue, PacksRequestsInOrderOfArrivalUnderTheBudget) {
  BatchQueue queue(100);
  queue.push(1, {40});
  queue.push(2, {40});
  queue.push(3, {40});
  queue.push(4, {10});
  EXPECT_EQ(queue.token_count(), 130);
  // 4 would fit beside 1 and 2, but it must not overtake 3.
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 0, 1}, Slice{2, 0, 1}));
  EXPECT_EQ(queue.token_count(), 50);
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{3, 0, 1}, Slice{4, 0, 1}));
  EXPECT_TRUE(queue.empty());
  EXPECT_THAT(queue.next_batch(), IsEmpty());
}

TEST(BatchQueue, FillsABatchToTheLastToken) {
  BatchQueue queue(100);
  queue.push(1, {60, 40, 1});
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 0, 2}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 2, 1}));
}

TEST(BatchQueue, ALongRequestDelaysALaterOneByOneBatchOnly) {
  BatchQueue queue(100);
  queue.push(1, questions(64, 50));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 0, 2}));
  queue.push(2, {30});  // arrives while the first batch runs
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{2, 0, 1}, Slice{1, 2, 1}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 3, 2}));
}

TEST(BatchQueue, LongRequestsShareTheExecutor) {
  BatchQueue queue(100);
  queue.push(1, questions(4, 50));
  queue.push(2, questions(4, 50));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 0, 2}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{2, 0, 2}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 2, 2}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{2, 2, 2}));
  EXPECT_TRUE(queue.empty());
}

TEST(BatchQueue, ARequestOfUpToOneBudgetIsNeverOvertaken) {
  BatchQueue queue(100);
  queue.push(1, {10});
  queue.push(2, questions(4, 25));  // whole budget, begun beside 1 and split
  queue.push(3, {90});
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 0, 1}, Slice{2, 0, 3}));
  queue.push(4, {90});
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{2, 3, 1}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{3, 0, 1}));
}

TEST(BatchQueue, RoomNobodyElseWantsGoesToThoseWhoYielded) {
  BatchQueue queue(100);
  queue.push(1, {20});
  queue.push(2, questions(10, 30));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 0, 1}, Slice{2, 0, 2}));
  // 2 has credit for one question (40 tokens left of 100) and then yields to nobody: the batch is still full.
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{2, 2, 3}));
}

TEST(BatchQueue, AQuestionOverTheBudgetRunsAlone) {
  BatchQueue queue(100);
  queue.push(1, {10});
  queue.push(2, {250, 250});
  queue.push(3, {10});
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 0, 1}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{2, 0, 1}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{3, 0, 1}));
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{2, 1, 1}));
  EXPECT_TRUE(queue.empty());
}

TEST(BatchQueue, RemovedRequestsNeverRun) {
  BatchQueue queue(100);
  queue.push(1, questions(4, 50));
  queue.push(2, {60});
  queue.push(3, {40});
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{1, 0, 2}));
  queue.remove(1);  // put back after its batch
  queue.remove(2);  // not begun
  queue.remove(7);  // never seen
  EXPECT_EQ(queue.token_count(), 40);
  EXPECT_THAT(queue.next_batch(), ElementsAre(Slice{3, 0, 1}));
  EXPECT_TRUE(queue.empty());
}

// Every question runs exactly once and in order, batches keep the budget, and between a request's arrival and
// its first batch every other request takes at most one budget of tokens (or one longer question).
class RandomArrivals {
 public:
  static constexpr int64_t kBudget = 100;
  static constexpr int64_t kLongest = 150;

  void arrive() {
    std::vector<int64_t> tokens(1 + random(random(8) == 0 ? 64 : 3));
    for (int64_t& t : tokens) t = 1 + static_cast<int64_t>(random(random(10) == 0 ? kLongest : 40));
    queue_.push(requests_.size(), tokens);
    requests_.push_back({.tokens = tokens});
  }

  void run_batch() {
    const std::vector<Slice> batch = queue_.next_batch();
    EXPECT_EQ(batch.empty(), open() == 0);
    int64_t total = 0;
    size_t questions = 0;
    for (const Slice& slice : batch) {
      Request& request = requests_.at(slice.id);
      ASSERT_EQ(slice.first, request.next);
      request.next += slice.count;
      total += slice_tokens(slice);
      questions += slice.count;
    }
    ASSERT_TRUE(total <= kBudget || questions == 1);
    for (const Slice& slice : batch)
      for (Request& waiting : requests_)
        if (waiting.next == 0) waiting.delayed_by[slice.id] += slice_tokens(slice);
  }

  void check_delays() const {
    for (const Request& request : requests_)
      for (const auto& [id, tokens] : request.delayed_by)
        EXPECT_LE(tokens, std::max(kBudget, kLongest)) << id;
  }

  size_t open() const {
    return static_cast<size_t>(std::count_if(requests_.begin(), requests_.end(),
                                             [](const Request& r) { return r.next < r.tokens.size(); }));
  }
  uint64_t random(uint64_t below) {
    seed_ = seed_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (seed_ >> 33U) % below;
  }
  const BatchQueue& queue() const { return queue_; }

 private:
  struct Request {
    std::vector<int64_t> tokens;
    size_t next = 0;
    std::map<uint64_t, int64_t> delayed_by = {};
  };
  int64_t slice_tokens(const Slice& slice) const {
    const auto first = requests_[slice.id].tokens.begin() + static_cast<ptrdiff_t>(slice.first);
    return std::accumulate(first, first + static_cast<ptrdiff_t>(slice.count), int64_t{0});
  }

  BatchQueue queue_{kBudget};
  std::vector<Request> requests_;
  uint64_t seed_ = 1;
};

TEST(BatchQueue, KeepsItsPromisesUnderRandomArrivals) {
  RandomArrivals arrivals;
  for (int step = 0; step < 3000; ++step) {
    if (arrivals.random(4) == 0) arrivals.arrive();
    if (arrivals.random(4) != 0) arrivals.run_batch();
    if (HasFatalFailure()) return;
  }
  while (arrivals.open() > 0 && !HasFailure()) arrivals.run_batch();
  arrivals.check_delays();
  EXPECT_EQ(arrivals.queue().token_count(), 0);
  EXPECT_TRUE(arrivals.queue().empty());
}

TEST(BatchQueue, CutsARequestByItselfAlone) {
  // The request under test runs as the same slices whatever came before it.
  for (const std::vector<int64_t>& before :
       {std::vector<int64_t>{}, {100}, {10}, {60}, {99}, {30, 30}, {200, 40}}) {
    BatchQueue queue(100, true);
    if (!before.empty()) queue.push(1, before);
    queue.push(2, {30, 30});
    queue.push(3, {40, 50, 20, 120, 10});
    queue.push(4, {5});
    std::vector<Slice> two;
    std::vector<Slice> three;
    while (!queue.empty()) {
      for (const Slice& slice : queue.next_batch()) {
        if (slice.id == 2) two.push_back(slice);
        if (slice.id == 3) three.push_back(slice);
      }
    }
    EXPECT_THAT(two, ElementsAre(Slice{2, 0, 2}));
    EXPECT_THAT(three, ElementsAre(Slice{3, 0, 2}, Slice{3, 2, 1}, Slice{3, 3, 1}, Slice{3, 4, 1}));
    EXPECT_EQ(queue.token_count(), 0);
  }
}

// docs/serving.md: what a client waits while 63 others ask again as soon as they are answered. The wait is
// counted in batches after the one that runs when the request comes; the last is its own.
class BusyQueue {
 public:
  static constexpr size_t kOthers = 63;

  explicit BusyQueue(std::vector<int64_t> asked_by_others) : asked_by_others_(std::move(asked_by_others)) {
    for (uint64_t id = 1; id <= kOthers; ++id) ask(id);
    for (int i = 0; i < 500; ++i) run_batch();
  }

  size_t wait_of(int64_t tokens) {
    queue_.push(kProbe, {tokens});
    size_t batches = 1;
    while (!run_batch()) ++batches;
    return batches;
  }

  /// Whether the probe was in it. Others come back when their last question has run.
  bool run_batch() {
    bool probe = false;
    for (const Slice& slice : queue_.next_batch()) {
      probe |= slice.id == kProbe;
      if (slice.id != kProbe && (left_[slice.id] -= slice.count) == 0) ask(slice.id);
    }
    return probe;
  }

 private:
  static constexpr uint64_t kProbe = 0;

  void ask(uint64_t id) {
    left_[id] = asked_by_others_.size();
    queue_.push(id, asked_by_others_);
  }

  BatchQueue queue_{100};
  std::vector<int64_t> asked_by_others_;
  std::map<uint64_t, size_t> left_;
};

std::vector<size_t> waits(BusyQueue queue) {
  std::vector<size_t> waits;
  for (int i = 0; i < 200; ++i) {
    waits.push_back(queue.wait_of(30));
    for (int j = 0; j < i % 7; ++j) queue.run_batch();
  }
  std::ranges::sort(waits);
  return waits;
}

TEST(BatchQueue, ARequestWaitsNoMoreThanABatchForEachOfManyLongOnes) {
  const std::vector<size_t> seen = waits(BusyQueue(questions(64, 50)));
  EXPECT_LE(seen.back(), BusyQueue::kOthers + 1);
  EXPECT_GE(seen[seen.size() / 2], BusyQueue::kOthers / 2) << "nobody was in its way";
}

TEST(BatchQueue, ARequestWaitsForTheBatchesThatManyShortOnesFill) {
  const std::vector<size_t> seen = waits(BusyQueue({12}));  // eight to a batch
  EXPECT_LE(seen.back(), (BusyQueue::kOthers + 7) / 8 + 1);
  EXPECT_GE(seen[seen.size() / 2], BusyQueue::kOthers / 8 / 2) << "nobody was in its way";
}

}  // namespace
}  // namespace d3::engine
