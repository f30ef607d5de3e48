// cli/pull_display.h: how far a download is.
#pragma once

#include <chrono>
#include <deque>
#include <string>

#include "cli/context.h"
#include "hub/pull.h"

namespace d3::cli {

/// On a terminal one line with a bar, the rate and the time left, which is removed in the end; elsewhere a
/// line for every tenth. Nothing is shown of a pull that fetches nothing.
class PullDisplay {
 public:
  PullDisplay(const Output& output, std::string name, std::string cache);
  ~PullDisplay();
  PullDisplay(const PullDisplay&) = delete;
  PullDisplay& operator=(const PullDisplay&) = delete;

  hub::PullEvents events();  ///< valid as long as this is
  /// Says what has been done, when anything was fetched.
  void finish(const hub::Pulled& pulled);

 private:
  using Clock = std::chrono::steady_clock;
  struct Sample {
    Clock::time_point time;
    uint64_t done;
  };
  void show(const hub::PullProgress& progress);
  void notice(const std::string& line);
  void measure(uint64_t done);
  std::string amounts(const hub::PullProgress& progress) const;
  void clear_line();

  const Output& output_;
  std::string name_;
  std::string cache_;
  Clock::time_point start_;
  Clock::time_point shown_at_;
  std::deque<Sample> samples_;  ///< of the last seconds
  int shown_tenth_ = 0;
  bool begun_ = false;
  bool line_is_drawn_ = false;
};

}  // namespace d3::cli
