// cli/batch.h: any number of requests through one model, in order and in bounded memory.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "api/api.h"
#include "api/error_body.h"
#include "engine/decision_model.h"

namespace d3::cli {

struct BatchOptions {
  size_t max_requests = 1024;                ///< read and not yet written
  int64_t max_tokens = 16'384;               ///< of these; enough for several of the engine's batches
  size_t max_kept_bytes = size_t{64} << 20;  ///< of BatchLine::kept of these
};

struct BatchProgress {
  int64_t lines = 0;   ///< requests whose answers are written
  int64_t bad = 0;     ///< of these, those that have an error instead of an answer
  int64_t tokens = 0;  ///< of the written answers' prompts
  uint64_t end = 0;    ///< of the input, up to the last written line
};

/// Where a request comes from.
struct BatchLine {
  int64_t number = 0;     ///< of the input's line at which it begins
  uint64_t end = 0;       ///< as in BatchProgress
  std::string kept = {};  ///< what its answer's line begins with, where the form has such a thing
};

/// How a batch writes its answers, each in one piece.
class AnswerForm {
 public:
  virtual ~AnswerForm() = default;
  virtual std::string answer(const BatchLine& line, const decision::Request& request,
                             std::span<const decision::Answer> answers, int64_t tokens) const = 0;
  virtual std::string error(const BatchLine& line, const api::ErrorReply& reply,
                            const char* message) const = 0;
};

/// {"line":N, and the body that POST /v1/systemone answers with, or {"line":N,"error":..}.
class JsonLines : public AnswerForm {
 public:
  explicit JsonLines(api::ServedModel served) : served_(std::move(served)) {}
  std::string answer(const BatchLine& line, const decision::Request& request,
                     std::span<const decision::Answer> answers, int64_t tokens) const override;
  std::string error(const BatchLine& line, const api::ErrorReply& reply, const char* message) const override;

 private:
  api::ServedModel served_;
};

/// Answers requests in the order they are added. Used by one thread.
class Batch {
 public:
  /// Gets whole answers, in order.
  using Write = std::function<void(const std::string& answers, const BatchProgress& progress)>;
  /// Gets the message of each line that cannot be answered.
  using Bad = std::function<void(int64_t line, const std::string& message)>;

  /// `model` and `form` must outlive it.
  Batch(engine::DecisionModel& model, const AnswerForm& form, const BatchOptions& options, Write write,
        Bad bad);

  /// A request as POST /v1/systemone takes it. Waits while there is no room. Throws what `write` throws.
  void add(BatchLine line, const std::string& body);
  /// A line that is no request, for a reason of its own.
  void add_bad(BatchLine line, const Error& error);
  /// Waits for the answers of all that was added.
  void finish();

 private:
  struct Slot {
    BatchLine line;
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
  const AnswerForm& form_;
  const BatchOptions options_;
  const Write write_;
  const Bad bad_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::deque<std::shared_ptr<Slot>> slots_;  ///< in order
  int64_t tokens_ = 0;                       ///< of slots_
  size_t kept_bytes_ = 0;                    ///< of slots_
  BatchProgress progress_;
};

}  // namespace d3::cli
