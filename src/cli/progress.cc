#include "cli/progress.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace d3::cli {

ProgressLine::ProgressLine(const Output& output, std::string title)
    : output_(output), title_(std::move(title)) {
  show(0);
}

ProgressLine::~ProgressLine() {
  if (!output_.terminal) return;
  output_.print("\r\x1b[K");
  output_.flush();
}

void ProgressLine::show(double share) {
  const int percent = static_cast<int>(std::clamp(share, 0.0, 1.0) * 100);
  if (!output_.terminal || percent == shown_) return;
  shown_ = percent;
  output_.print(fmt::format("\r{} {} %\x1b[K", title_, percent));
  output_.flush();
}

}  // namespace d3::cli
