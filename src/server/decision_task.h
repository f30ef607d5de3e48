// server/decision_task.h: one POST to the model, from its body to its reply.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "api/api.h"
#include "base/error.h"
#include "engine/engine.h"
#include "server/readiness.h"
#include "server/routes.h"
#include "server/service.h"

namespace d3::server {

/// Body -> Request -> token ids on a worker, answers on the engine, the reply's body on the I/O thread. A
/// request with media goes on on a worker of its kind, which may wait for other servers.
class DecisionTask : public Pending, public std::enable_shared_from_this<DecisionTask> {
 public:
  using OnError = std::function<void(const Error&)>;
  struct Context {
    Endpoint endpoint;
    std::string request_id;
    std::string content_type;      ///< of the body, as sent
    std::string content_encoding;  ///< of the body: plain or known
    size_t max_body;               ///< bytes, decoded
    ServingModel& model;           ///< outlives the task, as the three below do
    const Post& to_io;
    const Post& to_workers;
    const Post& to_media_workers;
    std::optional<std::chrono::milliseconds> timeout;
  };

  /// One of on_reply and on_error is called on the I/O thread, unless the task is cancelled first.
  DecisionTask(Context context, OnReply on_reply, OnError on_error);

  void start(Body body);
  void cancel() override;

 private:
  // What is needed to write the answer once the model has spoken.
  using Write = std::function<std::string(std::span<const decision::Answer>, const api::ResponseInfo&)>;
  struct Parsed {
    std::shared_ptr<decision::Request> request;
    Write write;
  };
  void work(void (DecisionTask::*step)());
  Parsed parse(std::string_view body) const;
  Parsed parse_body();
  bool is_cancelled();
  void read();
  void prepare();
  void on_outcome(engine::Outcome outcome);
  void fail(ErrorCode code, std::string message, std::string field);

  const Context context_;
  const std::optional<engine::Clock::time_point> deadline_;
  OnReply on_reply_;  // I/O thread
  OnError on_error_;  // I/O thread
  // Before the request is in the engine's hands the worker's, then the I/O thread's:
  std::optional<Body> body_;
  std::shared_ptr<decision::Request> request_;
  std::optional<BodyBudget::Lease> media_lease_;  ///< for the media in request_
  Write write_;
  Work work_;

  std::mutex mutex_;
  bool cancelled_ = false;             // under mutex_
  std::optional<uint64_t> engine_id_;  // under mutex_
};

}  // namespace d3::server
