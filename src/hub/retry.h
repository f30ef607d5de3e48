// hub/retry.h: failures that another try may get over, and how long to wait before it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"

namespace d3::hub {

/// A cut, stalled or refused connection, 429 or 5xx.
class TransientError : public Error {
 public:
  explicit TransientError(const std::string& message,
                          std::optional<std::chrono::seconds> after = std::nullopt)
      : Error(ErrorCode::kUnavailable, message), after_(after) {}

  /// What the answer's retry-after asks for.
  std::optional<std::chrono::seconds> after() const { return after_; }

 private:
  std::optional<std::chrono::seconds> after_;
};

/// Another part of the same work has failed: this one ends without a message of its own.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

/// Ends work on several threads. Thread-safe.
class Stop {
 public:
  void request();
  bool requested() const;
  /// Waits; throws Stopped when the end is requested before or meanwhile.
  void wait(std::chrono::milliseconds time);

 private:
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool requested_ = false;
};

/// The tries of one request. A try that brought something resets the count.
class Retries {
 public:
  /// `pause` waits for the time given.
  using Pause = std::function<void(std::chrono::milliseconds)>;

  Retries(int max_tries, std::chrono::seconds max_wait, Pause pause);

  void reset() { failures_ = 0; }
  /// Called in the handler of a TransientError: waits (0.5 s, then twice as long each time, or what
  /// retry-after says) when another try is due; else throws the error again.
  void wait_after(const TransientError& error);

 private:
  int max_tries_;
  std::chrono::seconds max_wait_;
  Pause pause_;
  int failures_ = 0;
};

}  // namespace d3::hub
