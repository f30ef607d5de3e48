// cli/progress.h: how far loading is, on one line of a terminal.
#pragma once

#include <functional>
#include <string>

#include "cli/context.h"

namespace d3::cli {

/// Draws `title 42 %` over itself while a terminal is there; nothing otherwise. The line is removed on
/// destruction. Used by one thread at a time.
class ProgressLine {
 public:
  ProgressLine(const Output& output, std::string title);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(double share);  ///< 0 to 1

 private:
  const Output& output_;
  std::string title_;
  int shown_ = -1;  // per cent
};

}  // namespace d3::cli
