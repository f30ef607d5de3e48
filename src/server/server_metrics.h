// server/server_metrics.h: what the server counts, and the whole of GET /metrics.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "metrics/metrics.h"
#include "server/http.h"
#include "server/options.h"
#include "server/readiness.h"

namespace d3::server {

/// Thread-safe.
class ServerMetrics {
 public:
  ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  /// An answer that was written. route: a path of the route table, "" for any other.
  void add_answer(std::string_view route, const Reply& reply, std::chrono::duration<double> taken);

  metrics::Counter bytes_in;
  metrics::Counter bytes_out;
  metrics::Counter abandoned;  ///< requests whose client went away
  metrics::Counter connections_refused;
  std::atomic<int64_t> connections{0};

  /// Adds what readiness and, once it is there, the model and the process say.
  void add_build(const std::string& version);
  void add_readiness(Readiness& readiness);
  void add_model(const ServingModel& model);

  std::string text() const { return registry_.text(); }

 private:
  metrics::CounterFamily requests_{{"route", "status"}};
  metrics::Histogram seconds_{metrics::time_bounds()};        // of routes that ask the model
  metrics::Histogram other_seconds_{metrics::time_bounds()};  // of the others
  std::vector<std::unique_ptr<metrics::Histogram>> stages_;  // parse, tokenize, media: the engine has its own
  metrics::Counter questions_;
  metrics::Counter input_tokens_;
  metrics::Registry registry_;  // refers to all above
};

}  // namespace d3::server
