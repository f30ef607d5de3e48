#include "cli/pull_display.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/terminal.h"
#include "cli/units.h"

namespace d3::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings{100};
constexpr std::chrono::seconds kRateWindow{5};

}  // namespace

PullDisplay::PullDisplay(const Output& output, std::string name, std::string cache)
    : output_(output), name_(std::move(name)), cache_(std::move(cache)), start_(Clock::now()) {}

PullDisplay::~PullDisplay() { clear_line(); }

hub::PullEvents PullDisplay::events() {
  return {.progress = [this](const hub::PullProgress& progress) { show(progress); },
          .notice = [this](const std::string& line) { notice(line); },
          .pause = {}};
}

void PullDisplay::finish(const hub::Pulled& pulled) {
  clear_line();
  if (!begun_) return;
  const auto taken = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start_);
  output_.print(fmt::format("d3: pulled {}: {} in {}\n", name_,
                            bytes_text(static_cast<int64_t>(pulled.fetched)), time_text(taken)));
  output_.flush();
}

void PullDisplay::show(const hub::PullProgress& progress) {
  if (progress.bytes == 0) return;
  if (!std::exchange(begun_, true)) {
    notice(fmt::format("pulling {} into {}", name_, cache_));
    shown_tenth_ = static_cast<int>(progress.done_before * 10 / progress.bytes);
  }
  measure(progress.done);
  const double share =
      std::clamp(static_cast<double>(progress.done) / static_cast<double>(progress.bytes), 0.0, 1.0);
  if (!output_.terminal) {
    const int tenth = static_cast<int>(share * 10);
    if (tenth <= shown_tenth_) return;
    shown_tenth_ = tenth;
    output_.print(fmt::format("d3: {}: {} %, {}\n", name_, tenth * 10, amounts(progress)));
    output_.flush();
    return;
  }
  const auto now = Clock::now();
  if (now - shown_at_ < kBetweenDrawings && progress.done < progress.bytes) return;
  shown_at_ = now;
  line_is_drawn_ = true;
  const Fitted drawn = bar(share, output_.unicode);
  const std::string line = fmt::format("d3: {}  {}{} {:3.0f} %  {}", name_, drawn.text,
                                       std::string(static_cast<size_t>(kBarCells - drawn.cells), ' '),
                                       std::floor(share * 100), amounts(progress));
  output_.print(fmt::format("\r{}\x1b[K", fit(line, output_.columns - 1, output_.unicode).text));
  output_.flush();
}

void PullDisplay::notice(const std::string& line) {
  clear_line();
  output_.print(fmt::format("d3: {}\n", line));
  output_.flush();
}

void PullDisplay::measure(uint64_t done) {
  const auto now = Clock::now();
  // A file that comes anew makes the count smaller: measure from there.
  if (!samples_.empty() && done < samples_.back().done) samples_.clear();
  samples_.push_back({now, done});
  while (samples_.size() > 2 && now - samples_[1].time > kRateWindow) samples_.pop_front();
}

std::string PullDisplay::amounts(const hub::PullProgress& progress) const {
  std::string text = fmt::format("{} of {}", bytes_text(static_cast<int64_t>(progress.done)),
                                 bytes_text(static_cast<int64_t>(progress.bytes)));
  const std::chrono::duration<double> time = samples_.back().time - samples_.front().time;
  const auto bytes = static_cast<double>(samples_.back().done - samples_.front().done);
  if (time.count() <= 0 || bytes <= 0) return text;
  const double rate = bytes / time.count();
  const double left = static_cast<double>(progress.bytes - std::min(progress.done, progress.bytes)) / rate;
  text += fmt::format(", {}/s", bytes_text(static_cast<int64_t>(rate)));
  if (progress.done < progress.bytes)
    text += fmt::format(", {} left", time_text(std::chrono::seconds(static_cast<int64_t>(std::ceil(left)))));
  return text;
}

void PullDisplay::clear_line() {
  if (!std::exchange(line_is_drawn_, false)) return;
  output_.print("\r\x1b[K");
  output_.flush();
}

}  // namespace d3::cli
