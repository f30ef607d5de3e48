// engine/queue.h: which questions run next. Plain data: no threads, no clock, no tokens, only their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace d3::engine {

/// Questions [first, first + count) of the request `id`.
struct Slice {
  uint64_t id = 0;
  size_t first = 0;
  size_t count = 0;
  bool operator==(const Slice&) const = default;
};

/// Forms batches of whole questions under a token budget: deficit round robin with the budget as quantum
/// (M. Shreedhar and G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995).
///  - Requests are served in order of arrival; nobody waits for a request that has not arrived.
///  - A request that has taken a budget's worth of tokens and has questions left goes to the back, behind
///    those that arrived before its batch ended. So each request delays a later one by at most one budget of
///    tokens, and a request of up to one budget is never overtaken by a later one.
///  - Room that nobody else wants goes to those that were put back: while there is work, batches are full.
/// A question longer than the budget runs in a batch of its own.
///
/// `whole_requests`: requests run strictly in order of arrival, and one that a batch has no room for waits
/// for the next batch, which it begins. How a request is cut then depends on nothing but itself, and so do
/// the last digits of its answers (a prefix that questions share is computed once in a batch).
class BatchQueue {
 public:
  explicit BatchQueue(int64_t max_batch_tokens, bool whole_requests = false);

  /// question_tokens: the length of every question's prompt, at least one, all positive.
  void push(uint64_t id, std::vector<int64_t> question_tokens);

  /// Takes the next batch out, at most one slice of each request; empty when nothing waits.
  std::vector<Slice> next_batch();

  /// Drops what is left of a request; does nothing when nothing is.
  void remove(uint64_t id);

  bool empty() const { return waiting_.empty() && yielded_.empty(); }
  /// Tokens that no batch has taken yet.
  int64_t token_count() const { return tokens_; }

 private:
  struct Entry {
    uint64_t id;
    std::vector<int64_t> question_tokens;
    size_t next;     // the first question that no batch has taken
    int64_t credit;  // tokens it may take before it lets others pass
    bool done() const { return next == question_tokens.size(); }
  };
  struct Batch {
    int64_t room;
    std::vector<Slice> slices;
  };

  std::vector<Slice> next_batch_of_whole_requests();
  bool fits(const Batch& batch, const Entry& entry) const;
  int64_t cost(const Entry& entry) const;
  void take(Batch& batch, Entry& entry);

  int64_t max_batch_tokens_;
  bool whole_requests_;
  int64_t tokens_ = 0;
  std::deque<Entry> waiting_;  // in order of arrival or return
  std::deque<Entry> yielded_;  // out of credit in the last batch; they return to waiting_ when it has ended
};

}  // namespace d3::engine
