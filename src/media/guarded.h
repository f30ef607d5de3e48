// media/guarded.h: calls into C libraries that report errors by longjmp.
#pragma once

#include <array>
#include <csetjmp>
#include <string>
#include <utility>

#include "media/refusal.h"
#include "media/work_limit.h"

namespace d3::media {

/// The calls of one image's decoder. The library's error handlers, and callbacks that find a reason to end,
/// leave by fail(), cut_short() or check_time(); run() then refuses the image.
class GuardedCalls {
 public:
  /// A library's message fits this many bytes, its end included.
  static constexpr size_t kMessageBytes = 200;

  /// `format` is how messages name it ("PNG").
  GuardedCalls(std::string format, double max_seconds) : format_(std::move(format)), limit_(max_seconds) {}
  GuardedCalls(const GuardedCalls&) = delete;
  GuardedCalls& operator=(const GuardedCalls&) = delete;

  /// `calls` must make C calls and move plain values only: a longjmp runs no destructor. Throws
  /// Error(kInvalidArgument, reason) when they did not return.
  template <typename Calls>
  void run(Calls calls) {
    if (return_from(calls)) return;
    if (too_slow_) refuse("the " + format_ + " image takes too long to decode");
    if (cut_) refuse("the " + format_ + " image is cut short");
    refuse("damaged " + format_ + " image: " + message_.data());
  }

  char* message() { return message_.data(); }
  [[noreturn]] void fail() { std::longjmp(jump_, 1); }
  [[noreturn]] void cut_short() {
    cut_ = true;
    fail();
  }
  void check_time() {
    if (!limit_.exceeded()) return;
    too_slow_ = true;
    fail();
  }

 private:
  /// False when the calls left by fail(). A function of its own, so that run() keeps nothing in registers
  /// across setjmp.
  template <typename Calls>
  bool return_from(Calls calls) {
    if (setjmp(jump_) != 0) return false;
    calls();
    return true;
  }

  const std::string format_;
  const WorkLimit limit_;
  std::jmp_buf jump_{};
  std::array<char, kMessageBytes> message_{};
  bool too_slow_ = false;
  bool cut_ = false;
};

}  // namespace d3::media
