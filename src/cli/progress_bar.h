// cli/progress_bar.h: how far long work is, with its rate and the time left.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "cli/context.h"

namespace d3::cli {

/// What has been done over the last seconds.
class RateMeter {
 public:
  void add(uint64_t done);    ///< in all, up to now
  double per_second() const;  ///< 0 while not known

 private:
  using Clock = std::chrono::steady_clock;
  struct Sample {
    Clock::time_point time;
    uint64_t done;
  };
  std::deque<Sample> samples_;
};

/// ", 12:30 left" for what is left at a rate; empty when nothing is left or the rate is not known.
std::string time_left_text(double left, double per_second);

/// On a terminal one line with a bar, drawn anew at most ten times a second and removed in the end; elsewhere
/// a line for every tenth. Used by one thread at a time.
class ProgressBar {
 public:
  ProgressBar(const Output& output, std::string name);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// No line for the tenths before this share.
  void begin_at(double share);
  /// `amounts` stands behind the bar, as in "1.90 GB of 4.42 GB".
  void show(double share, const std::string& amounts);
  /// A line above the bar, with "d3: " before it.
  void notice(const std::string& line);

 private:
  void clear_line();

  const Output& output_;
  std::string name_;
  std::chrono::steady_clock::time_point shown_at_;
  int shown_tenth_ = 0;
  bool line_is_drawn_ = false;
};

}  // namespace d3::cli
