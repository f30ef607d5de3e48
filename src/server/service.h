// server/service.h: the routes: from a request's head and body to its reply. No sockets.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <spdlog/logger.h>

#include "server/access_log.h"
#include "server/api_keys.h"
#include "server/body_budget.h"
#include "server/cors.h"
#include "server/http.h"
#include "server/options.h"
#include "server/playground.h"
#include "server/readiness.h"
#include "server/request_id.h"
#include "server/routes.h"
#include "server/server_metrics.h"

namespace d3::server {

/// A request that is being answered on other threads.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Nobody waits for the reply any more: what has not run yet never runs, and no reply comes.
  virtual void cancel() = 0;
};

/// A whole body and its share of the budget.
struct Body {
  std::string bytes;
  BodyBudget::Lease lease;
};

using OnReply = std::function<void(Reply)>;

/// Runs a function later on another thread, or the I/O thread. Thread-safe.
using Post = std::function<void(std::function<void()>)>;

/// A request that passed Service::check: it is answered even if the server begins to drain meanwhile.
struct Admitted {
  const Route* route;   ///< nullptr for a preflight
  ServingModel* model;  ///< where the route asks it, else nullptr
};

/// Called on the I/O thread only, and replies on it.
class Service {
 public:
  /// All references outlive the service. Bodies are parsed and prompts prepared where `to_workers` runs them,
  /// those with media where `to_media_workers` does; `to_io` leads back to the I/O thread.
  Service(const ServerOptions& options, Readiness& readiness, ServerMetrics& metrics, Post to_io,
          Post to_workers, Post to_media_workers, std::shared_ptr<spdlog::logger> log);

  /// The client's own id where it may be used, else a new one.
  std::string request_id(std::string_view sent);

  /// Everything that can be told before the body is read. Throws the error to answer with.
  Admitted check(const RequestHead& head) const;

  /// `on_reply` is called once, before or after the return; never after Pending::cancel. Nothing is returned
  /// when it has been called already.
  std::shared_ptr<Pending> answer(const Admitted& admitted, const RequestHead& head, Body body,
                                  OnReply on_reply);

  /// The reply to an error, with the headers that go with it; what the client may not see is logged.
  Reply refuse(const RequestHead& head, const Error& error);

  /// The headers that every reply has.
  void add_headers(const RequestHead& head, Reply& reply) const;
  /// For header `date`.
  const std::string& date();

  /// Counts and logs an answer that was written.
  void record(const Exchange& exchange);
  void count_bytes_in(size_t bytes) { metrics_.bytes_in.add(bytes); }
  void count_abandoned() { metrics_.abandoned.add(); }

  const ServerOptions& options() const { return options_; }
  BodyBudget& body_budget() { return body_budget_; }
  spdlog::logger& log() { return *log_; }

 private:
  const Route* route_of(const RequestHead& head) const;
  Reply tell(Endpoint endpoint, const RequestHead& head);
  std::chrono::seconds retry_after();

  const ServerOptions& options_;
  Readiness& readiness_;
  ServerMetrics& metrics_;
  const Post to_io_;
  const Post to_workers_;
  const Post to_media_workers_;
  std::shared_ptr<spdlog::logger> log_;
  AccessLog access_log_;
  ApiKeys keys_;
  Cors cors_;
  const std::optional<Playground> playground_;
  RequestIds ids_;
  BodyBudget body_budget_;
  std::time_t date_time_ = -1;
  std::string date_;
};

}  // namespace d3::server
