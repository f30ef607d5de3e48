// cli/pull_display.h: how far a download is.
#pragma once

#include <chrono>
#include <string>

#include "cli/progress_bar.h"
#include "hub/pull.h"

namespace d3::cli {

/// A ProgressBar with the rate and the time left. Nothing is shown of a pull that fetches nothing.
class PullDisplay {
 public:
  PullDisplay(const Output& output, std::string name, std::string cache);

  hub::PullEvents events();  ///< valid as long as this is
  /// Says what has been done, when anything was fetched.
  void finish(const hub::Pulled& pulled);

 private:
  void show(const hub::PullProgress& progress);

  std::string name_;
  std::string cache_;
  std::chrono::steady_clock::time_point start_;
  ProgressBar bar_;
  RateMeter rate_;
  bool begun_ = false;
};

}  // namespace d3::cli
