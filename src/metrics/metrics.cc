#include "metrics/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace d3::metrics {
namespace {

constexpr std::array kTimeBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                                 0.5,    1.0,   2.5,    5.0,   10.0, 30.0,  60.0, 120.0};
constexpr std::array kCountBounds{1.0,   2.0,   4.0,    8.0,    16.0,   32.0,   64.0,    128.0,  256.0,
                                  512.0, 1024., 2048.0, 4096.0, 8192.0, 16384., 32768.0, 65536.0};

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\\' || (quotes && c == '"'))
      out.append({'\\', c});
    else
      out += c;
  }
}

/// {a="b",c="d"}, nothing when there are none.
std::string label_text(const Labels& labels) {
  if (labels.empty()) return "";
  std::string out = "{";
  for (const auto& [name, value] : labels) {
    if (out.size() > 1) out += ',';
    out += name + "=\"";
    append_escaped(out, value, true);
    out += '"';
  }
  return out + '}';
}

void append_sample(std::string& out, const std::string& name, const Labels& labels, double value) {
  out += name + label_text(labels);
  if (std::isfinite(value))
    out += fmt::format(" {}\n", value);
  else
    out += std::isnan(value) ? " NaN\n" : value > 0 ? " +Inf\n" : " -Inf\n";
}

void append_count(std::string& out, const std::string& name, const Labels& labels, uint64_t value) {
  out += fmt::format("{}{} {}\n", name, label_text(labels), value);
}

void append_histogram(std::string& out, const std::string& name, const Labels& labels,
                      const Histogram& histogram) {
  const size_t buckets = histogram.bounds().size();
  for (size_t i = 0; i < buckets; ++i) {
    Labels with = labels;
    with.emplace_back("le", fmt::format("{}", histogram.bounds()[i]));
    append_count(out, name + "_bucket", with, histogram.cumulative(i));
  }
  const uint64_t all = histogram.cumulative(buckets);
  Labels with = labels;
  with.emplace_back("le", "+Inf");
  append_count(out, name + "_bucket", with, all);
  append_sample(out, name + "_sum", labels, histogram.sum());
  append_count(out, name + "_count", labels, all);
}

}  // namespace

Counter& CounterFamily::at(const std::vector<std::string>& values) {
  const std::lock_guard lock(mutex_);
  auto& counter = counters_[values];
  if (!counter) counter = std::make_unique<Counter>();
  return *counter;
}

void CounterFamily::each(const std::function<void(const Labels&, const Counter&)>& visit) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [values, counter] : counters_) {
    Labels labels;
    for (size_t i = 0; i < names_.size(); ++i) labels.emplace_back(names_[i], values.at(i));
    visit(labels, *counter);
  }
}

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}

void Histogram::observe(double value) noexcept {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

uint64_t Histogram::cumulative(size_t i) const noexcept {
  uint64_t count = 0;
  for (size_t bucket = 0; bucket <= i; ++bucket) count += counts_[bucket].load(std::memory_order_relaxed);
  return count;
}

std::span<const double> time_bounds() { return kTimeBounds; }
std::span<const double> count_bounds() { return kCountBounds; }

void Registry::add(std::string name, std::string help, Labels labels, const Counter& counter) {
  add_series(name, std::move(help), "counter",
             [name, labels = std::move(labels), &counter](std::string& out) {
               append_count(out, name, labels, counter.value());
             });
}

void Registry::add(std::string name, std::string help, const CounterFamily& family) {
  add_series(name, std::move(help), "counter", [name, &family](std::string& out) {
    family.each([&](const Labels& labels, const Counter& counter) {
      append_count(out, name, labels, counter.value());
    });
  });
}

void Registry::add(std::string name, std::string help, Labels labels, const Histogram& histogram) {
  add_series(name, std::move(help), "histogram",
             [name, labels = std::move(labels), &histogram](std::string& out) {
               append_histogram(out, name, labels, histogram);
             });
}

void Registry::add_counter(std::string name, std::string help, Labels labels, std::function<double()> read) {
  add_series(name, std::move(help), "counter",
             [name, labels = std::move(labels), read = std::move(read)](std::string& out) {
               append_sample(out, name, labels, read());
             });
}

void Registry::add_gauge(std::string name, std::string help, Labels labels, std::function<double()> read) {
  add_series(name, std::move(help), "gauge",
             [name, labels = std::move(labels), read = std::move(read)](std::string& out) {
               append_sample(out, name, labels, read());
             });
}

void Registry::add_series(std::string name, std::string help, std::string_view type, Series series) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(families_.begin(), families_.end(),
                                  [&](const Family& family) { return family.name == name; });
  if (known != families_.end()) {
    known->series.push_back(std::move(series));
    return;
  }
  families_.push_back({.name = std::move(name), .help = std::move(help), .type = type, .series = {}});
  families_.back().series.push_back(std::move(series));
}

std::string Registry::text() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const Family& family : families_) {
    out += "# HELP " + family.name + ' ';
    append_escaped(out, family.help, false);
    out += fmt::format("\n# TYPE {} {}\n", family.name, family.type);
    for (const Series& series : family.series) series(out);
  }
  return out;
}

}  // namespace d3::metrics
