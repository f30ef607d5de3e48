#include "cli/progress_bar.h"

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

void RateMeter::add(uint64_t done) {
  const auto now = Clock::now();
  // What is done anew makes the count smaller: measure from there.
  if (!samples_.empty() && done < samples_.back().done) samples_.clear();
  samples_.push_back({now, done});
  while (samples_.size() > 2 && now - samples_[1].time > kRateWindow) samples_.pop_front();
}

double RateMeter::per_second() const {
  if (samples_.empty()) return 0;
  const std::chrono::duration<double> time = samples_.back().time - samples_.front().time;
  const auto done = static_cast<double>(samples_.back().done - samples_.front().done);
  return time.count() > 0 ? done / time.count() : 0;
}

std::string time_left_text(double left, double per_second) {
  if (left <= 0 || per_second <= 0) return {};
  constexpr double kMostSeconds = 1e9;
  const double seconds = std::min(std::ceil(left / per_second), kMostSeconds);
  return fmt::format(", {} left", time_text(std::chrono::seconds(static_cast<int64_t>(seconds))));
}

ProgressBar::ProgressBar(const Output& output, std::string name) : output_(output), name_(std::move(name)) {}

ProgressBar::~ProgressBar() { clear_line(); }

void ProgressBar::begin_at(double share) { shown_tenth_ = static_cast<int>(share * 10); }

void ProgressBar::show(double share, const std::string& amounts) {
  share = std::clamp(share, 0.0, 1.0);
  if (!output_.terminal) {
    const int tenth = static_cast<int>(share * 10);
    if (tenth <= shown_tenth_) return;
    shown_tenth_ = tenth;
    output_.print(fmt::format("d3: {}: {} %, {}\n", name_, tenth * 10, amounts));
    output_.flush();
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_at_ < kBetweenDrawings && share < 1) return;
  shown_at_ = now;
  line_is_drawn_ = true;
  const Fitted drawn = bar(share, output_.unicode);
  const std::string line = fmt::format("d3: {}  {}{} {:3.0f} %  {}", name_, drawn.text,
                                       std::string(static_cast<size_t>(kBarCells - drawn.cells), ' '),
                                       std::floor(share * 100), amounts);
  output_.print(fmt::format("\r{}\x1b[K", fit(line, output_.columns - 1, output_.unicode).text));
  output_.flush();
}

void ProgressBar::notice(const std::string& line) {
  clear_line();
  std::string shown = line;  // what a request holds cannot control the terminal
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  output_.print(fmt::format("d3: {}\n", shown));
  output_.flush();
}

void ProgressBar::clear_line() {
  if (!std::exchange(line_is_drawn_, false)) return;
  output_.print("\r\x1b[K");
  output_.flush();
}

}  // namespace d3::cli
