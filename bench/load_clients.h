// bench/load_clients.h: keep-alive clients of an HTTP server, all on one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace d3::bench {

struct LoadResult {
  size_t answers = 0;
  size_t failed = 0;  ///< answers with another status than 200
  double seconds = 0;
  std::vector<double> milliseconds;  ///< of each answer, sorted

  double rate() const { return static_cast<double>(answers) / seconds; }
  /// The time within which `share` (0 to 1) of the answers came.
  double percentile(double share) const;
};

/// One answer as it came, head and body.
std::string ask_once(uint16_t port, const std::string& request);

struct LoadPlan {
  size_t clients = 1;
  std::chrono::milliseconds duration{5000};
  std::optional<size_t> rounds = {};  ///< that many requests of each client, instead of a time
};

/// Connections to 127.0.0.1, each of which sends `request` (a whole HTTP/1.1 request) again as soon as it has
/// its answer (with content-length). Returns when all are answered. Throws std::runtime_error when the server
/// closes a connection.
LoadResult run_load(uint16_t port, const std::string& request, const LoadPlan& plan);

}  // namespace d3::bench
