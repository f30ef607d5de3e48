// media/work_limit.h: bounds the CPU time that one medium may take, whatever its bytes say.
#pragma once

#include <ctime>

namespace d3::media {

/// CPU time of the calling thread so far.
inline double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Counts the calling thread's own CPU time, so that a busy machine refuses nothing that an idle one takes.
class WorkLimit {
 public:
  explicit WorkLimit(double seconds) : end_(thread_cpu_seconds() + seconds) {}

  bool exceeded() const { return thread_cpu_seconds() > end_; }

 private:
  double end_;
};

}  // namespace d3::media
