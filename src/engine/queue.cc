#include "engine/queue.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace d3::engine {

BatchQueue::BatchQueue(int64_t max_batch_tokens, bool whole_requests)
    : max_batch_tokens_(std::max<int64_t>(1, max_batch_tokens)), whole_requests_(whole_requests) {}

void BatchQueue::push(uint64_t id, std::vector<int64_t> question_tokens) {
  for (const int64_t tokens : question_tokens) tokens_ += tokens;
  waiting_.push_back(
      {.id = id, .question_tokens = std::move(question_tokens), .next = 0, .credit = max_batch_tokens_});
}

std::vector<Slice> BatchQueue::next_batch() {
  if (whole_requests_) return next_batch_of_whole_requests();
  std::move(yielded_.begin(), yielded_.end(), std::back_inserter(waiting_));
  yielded_.clear();
  Batch batch{.room = max_batch_tokens_, .slices = {}};
  while (!waiting_.empty()) {
    Entry& entry = waiting_.front();
    while (!entry.done() && cost(entry) <= entry.credit && fits(batch, entry)) {
      entry.credit -= cost(entry);
      take(batch, entry);
    }
    if (!entry.done()) {
      if (cost(entry) <= entry.credit) return std::move(batch.slices);  // full; the entry stays first
      entry.credit = max_batch_tokens_;
      yielded_.push_back(std::move(entry));
    }
    waiting_.pop_front();
  }
  for (Entry& entry : yielded_) {
    while (!entry.done() && fits(batch, entry)) take(batch, entry);
    if (!entry.done()) break;
  }
  std::erase_if(yielded_, [](const Entry& entry) { return entry.done(); });
  return std::move(batch.slices);
}

std::vector<Slice> BatchQueue::next_batch_of_whole_requests() {
  Batch batch{.room = max_batch_tokens_, .slices = {}};
  while (!waiting_.empty()) {
    Entry& entry = waiting_.front();
    const auto left = entry.question_tokens.begin() + static_cast<std::ptrdiff_t>(entry.next);
    const int64_t tokens = std::accumulate(left, entry.question_tokens.end(), int64_t{0});
    if (!batch.slices.empty() && tokens > batch.room) break;
    while (!entry.done() && fits(batch, entry)) take(batch, entry);
    if (!entry.done()) break;
    waiting_.pop_front();
  }
  return std::move(batch.slices);
}

void BatchQueue::remove(uint64_t id) {
  for (std::deque<Entry>* entries : {&waiting_, &yielded_}) {
    const auto entry =
        std::find_if(entries->begin(), entries->end(), [&](const Entry& e) { return e.id == id; });
    if (entry == entries->end()) continue;
    for (size_t i = entry->next; i < entry->question_tokens.size(); ++i) tokens_ -= entry->question_tokens[i];
    entries->erase(entry);
    return;
  }
}

bool BatchQueue::fits(const Batch& batch, const Entry& entry) const {
  return batch.slices.empty() || entry.question_tokens[entry.next] <= batch.room;
}

int64_t BatchQueue::cost(const Entry& entry) const {
  // A question over the budget may still run when it is its turn.
  return std::min(entry.question_tokens[entry.next], max_batch_tokens_);
}

void BatchQueue::take(Batch& batch, Entry& entry) {
  const int64_t tokens = entry.question_tokens[entry.next];
  const auto slice = std::find_if(batch.slices.begin(), batch.slices.end(),
                                  [&](const Slice& s) { return s.id == entry.id; });
  if (slice == batch.slices.end())
    batch.slices.push_back({.id = entry.id, .first = entry.next, .count = 1});
  else
    ++slice->count;
  ++entry.next;
  batch.room -= tokens;
  tokens_ -= tokens;
}

}  // namespace d3::engine
