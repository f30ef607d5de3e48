// engine/engine_metrics.h: what the engine counts. The server shows it.
#pragma once

#include <chrono>

#include "metrics/metrics.h"
#include "model/batch.h"

namespace d3::engine {

/// Written by the engine's threads, read by any.
struct EngineMetrics {
  metrics::Counter questions;       ///< computed
  metrics::Counter tokens;          ///< of their prompts, shared prefixes counted for each
  metrics::Counter prefix_hits;     ///< questions that shared their prefix with one before in the batch
  metrics::Counter prefix_tokens;   ///< tokens of those prefixes
  metrics::Counter cancelled;       ///< requests
  metrics::Counter expired;         ///< requests that met their deadline unanswered
  metrics::Counter failed_batches;  ///< that threw
  metrics::Histogram queue_seconds{metrics::time_bounds()};    ///< of each request, up to its first batch
  metrics::Histogram forward_seconds{metrics::time_bounds()};  ///< of each request, the batches it was in
  metrics::Histogram batch_seconds{metrics::time_bounds()};
  metrics::Histogram batch_questions{metrics::count_bounds()};
  metrics::Histogram batch_tokens{metrics::count_bounds()};

  void add_batch(const model::PackedBatch& batch, std::chrono::duration<double> taken);
};

}  // namespace d3::engine
