// cpu/part_clock.h: where the time of a forward pass goes.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include "model/executor.h"

namespace d3::cpu {

/// The parts of the text model that are timed, in the order of a pass.
enum class Part {
  kEmbeddings,
  kNorms,
  kInProj,
  kDeltaRule,
  kOutProj,
  kQkvProj,
  kAttention,
  kOProj,
  kGateUpProj,
  kDownProj,
  kReadout
};
inline constexpr size_t kParts = static_cast<size_t>(Part::kReadout) + 1;

/// Sums up the time of every part, and of the products that the workers run in it; products outside of parts
/// (the vision tower's) count nowhere. begin() and end() are for the thread that starts loops; a worker adds
/// to its own product time only, and parallel_for orders that before end().
class PartClock {
 public:
  explicit PartClock(int workers) : products_(static_cast<size_t>(workers)) {}

  void begin();
  void end(Part part, double seconds);
  void add_product(int worker, double seconds) { products_[static_cast<size_t>(worker)].seconds += seconds; }
  std::vector<model::PartTime> times() const;

 private:
  struct alignas(64) WorkerTime {
    double seconds = 0;
  };
  struct Sum {
    double seconds = 0;
    double product_seconds = 0;
  };
  std::vector<WorkerTime> products_;  // by worker, since begin()
  std::array<Sum, kParts> sums_{};
};

/// Seconds since it was made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Times a part from here to the end of the scope. Parts do not nest.
class PartTimer {
 public:
  PartTimer(PartClock& clock, Part part) : clock_(clock), part_(part) { clock_.begin(); }
  ~PartTimer() { clock_.end(part_, watch_.seconds()); }
  PartTimer(const PartTimer&) = delete;
  PartTimer& operator=(const PartTimer&) = delete;

 private:
  PartClock& clock_;
  const Part part_;
  const Stopwatch watch_;
};

/// Times a worker's product from here to the end of the scope.
class ProductTimer {
 public:
  ProductTimer(PartClock& clock, int worker) : clock_(clock), worker_(worker) {}
  ~ProductTimer() { clock_.add_product(worker_, watch_.seconds()); }
  ProductTimer(const ProductTimer&) = delete;
  ProductTimer& operator=(const ProductTimer&) = delete;

 private:
  PartClock& clock_;
  const int worker_;
  const Stopwatch watch_;
};

}  // namespace d3::cpu
