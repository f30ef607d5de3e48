// cli/batch.h: any number of requests through one model, in order and in bounded memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/api.h"
#include "engine/decision_model.h"

namespace d3::cli {

struct BatchOptions {
  size_t max_requests = 1024;   ///< read and not yet written
  int64_t max_tokens = 16'384;  ///< of these; enough for several of the engine's batches
};

struct BatchProgress {
  int64_t lines = 0;   ///< written
  int64_t bad = 0;     ///< of these, those that have an error instead of an answer
  int64_t tokens = 0;  ///< of the written answers' prompts
  uint64_t end = 0;    ///< of the input, up to the last written line
};

/// Answers requests in the order they are added. Used by one thread.
class Batch {
 public:
  /// Gets whole lines: {"line":N, and the body that POST /v1/systemone answers with, or
  /// {"line":N,"error":..}.
  using Write = std::function<void(const std::string& lines, const BatchProgress& progress)>;
  /// Gets the message of each line that cannot be answered.
  using Bad = std::function<void(int64_t line, const std::string& message)>;

  Batch(engine::DecisionModel& model, api::ServedModel served, const BatchOptions& options, Write write,
        Bad bad);

  /// A request as POST /v1/systemone takes it; `end` as in BatchProgress. Waits while there is no room.
  /// Throws what `write` throws.
  void add(int64_t line, const std::string& body, uint64_t end);
  /// A line that is no request, for a reason of its own.
  void add_bad(int64_t line, const Error& error, uint64_t end);
  /// Waits for the answers of all that was added.
  void finish();

 private:
  struct Slot {
    int64_t line = 0;
    uint64_t end = 0;
    std::shared_ptr<const decision::Request> request = nullptr;
    int64_t tokens = 0;
    std::optional<engine::Outcome> outcome = std::nullopt;  ///< under Shared::mutex until it is there
  };
  struct Shared {  // lives as long as the last outcome that may come
    std::mutex mutex;
    std::condition_variable ready;
  };

  void push(std::shared_ptr<Slot> slot);
  bool is_full() const;
  void write_ready(bool wait_for_first);
  std::string text_of(const Slot& slot);

  engine::DecisionModel& model_;
  const api::ServedModel served_;
  const BatchOptions options_;
  const Write write_;
  const Bad bad_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::deque<std::shared_ptr<Slot>> slots_;  ///< in order
  int64_t tokens_ = 0;                       ///< of slots_
  BatchProgress progress_;
};

}  // namespace d3::cli
