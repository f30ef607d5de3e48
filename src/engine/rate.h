// engine/rate.h: how fast the executor has lately been.
#pragma once

#include <chrono>
#include <cstdint>

namespace d3::engine {

/// Tokens a second over the last batches, each weighing a fifth less than the next.
class RateEstimate {
 public:
  void add(int64_t tokens, std::chrono::duration<double> time) {
    constexpr double kKept = 0.8;
    tokens_ = tokens_ * kKept + static_cast<double>(tokens);
    seconds_ = seconds_ * kKept + time.count();
  }

  /// How long `tokens` would take; zero while nothing has been measured.
  std::chrono::duration<double> time_for(int64_t tokens) const {
    return std::chrono::duration<double>(tokens_ > 0 ? static_cast<double>(tokens) * seconds_ / tokens_
                                                     : 0.0);
  }

 private:
  double tokens_ = 0;
  double seconds_ = 0;
};

}  // namespace d3::engine
