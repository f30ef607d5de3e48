#include "hub/retry.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace d3::hub {

using std::chrono::milliseconds;

void Stop::request() {
  {
    const std::lock_guard lock(mutex_);
    requested_ = true;
  }
  wake_.notify_all();
}

bool Stop::requested() const {
  const std::lock_guard lock(mutex_);
  return requested_;
}

void Stop::wait(milliseconds time) {
  std::unique_lock lock(mutex_);
  if (wake_.wait_for(lock, time, [this] { return requested_; })) throw Stopped();
}

Retries::Retries(int max_tries, std::chrono::seconds max_wait, Pause pause)
    : max_tries_(max_tries), max_wait_(max_wait), pause_(std::move(pause)) {}

void Retries::wait_after(const TransientError& error) {
  if (++failures_ >= max_tries_) throw error;
  constexpr milliseconds kFirst{500};
  constexpr int kMostDoublings = 6;
  milliseconds time = kFirst * (1 << std::min(failures_ - 1, kMostDoublings));
  if (error.after()) {
    if (*error.after() > max_wait_)
      throw Error(ErrorCode::kUnavailable,
                  fmt::format("{}; it asks to come back in {} s", error.what(), error.after()->count()));
    time = *error.after();
  }
  pause_(time);
}

}  // namespace d3::hub
