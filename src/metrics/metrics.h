// metrics/metrics.h: numbers about what the program does, and their text for Prometheus. Nothing is global:
// who counts owns its counters, and a registry refers to them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace d3::metrics {

/// Names and values, as {route="/health",status="200"}.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// Only grows. Thread-safe.
class Counter {
 public:
  void add(uint64_t count = 1) noexcept { value_.fetch_add(count, std::memory_order_relaxed); }
  uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

/// Counters that differ in their labels' values. Thread-safe; a counter lives as long as its family. Meant
/// for values from small closed sets: never anything a client chooses.
class CounterFamily {
 public:
  explicit CounterFamily(std::vector<std::string> label_names) : names_(std::move(label_names)) {}

  /// The counter of these values, one for every name; made when it is asked for first.
  Counter& at(const std::vector<std::string>& values);

  /// Calls visit for every counter there is.
  void each(const std::function<void(const Labels&, const Counter&)>& visit) const;

 private:
  const std::vector<std::string> names_;
  mutable std::mutex mutex_;
  std::map<std::vector<std::string>, std::unique_ptr<Counter>> counters_;
};

/// How often which values were seen. Thread-safe.
class Histogram {
 public:
  /// bounds: upper ends of the buckets, growing; a last one without end is added.
  explicit Histogram(std::span<const double> bounds);

  void observe(double value) noexcept;

  std::span<const double> bounds() const { return bounds_; }
  /// How many values were at most bounds()[i]; at i = bounds().size(), all.
  uint64_t cumulative(size_t i) const noexcept;
  double sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

/// Buckets for times from half a millisecond to two minutes, in seconds, and for counts from 1 to 65,536.
std::span<const double> time_bounds();
std::span<const double> count_bounds();

/// What GET /metrics shows. Names follow Prometheus' rules: d3_<what>_<unit>, counters end in _total.
/// Everything added must outlive the registry. Thread-safe.
class Registry {
 public:
  void add(std::string name, std::string help, Labels labels, const Counter& counter);
  void add(std::string name, std::string help, const CounterFamily& family);
  void add(std::string name, std::string help, Labels labels, const Histogram& histogram);
  /// Values that are kept elsewhere and read when they are shown.
  void add_counter(std::string name, std::string help, Labels labels, std::function<double()> read);
  void add_gauge(std::string name, std::string help, Labels labels, std::function<double()> read);

  /// All of it in Prometheus' text format 0.0.4.
  std::string text() const;

 private:
  // Appends the samples of one series to a text.
  using Series = std::function<void(std::string& out)>;
  struct Family {
    std::string name;
    std::string help;
    std::string_view type;
    std::vector<Series> series;
  };
  void add_series(std::string name, std::string help, std::string_view type, Series series);

  mutable std::mutex mutex_;
  std::vector<Family> families_;  // in order of their first series
};

}  // namespace d3::metrics
