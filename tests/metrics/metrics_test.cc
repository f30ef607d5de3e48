#include "metrics/metrics.h"

#include <thread>

#include <gtest/gtest.h>

namespace d3::metrics {
namespace {

TEST(Metrics, AreWrittenAsPrometheusReadsThem) {
  Counter requests;
  requests.add(2);
  CounterFamily statuses({"route", "status"});
  statuses.at({"/b", "200"}).add();
  statuses.at({"/a", "404"}).add(3);
  const std::vector<double> bounds = {0.5, 1};
  Histogram times(bounds);
  for (const double time : {0.25, 0.5, 0.75, 8.0}) times.observe(time);
  Registry registry;
  registry.add("d3_requests_total", "Requests.", {{"kind", "a\"b\\\n"}}, requests);
  registry.add("d3_statuses_total", "Statuses\nand more.", statuses);
  registry.add("d3_time_seconds", "Times.", {{"stage", "parse"}}, times);
  registry.add_gauge("d3_share", "A share.", {}, [] { return 0.25; });
  registry.add("d3_requests_total", "Requests.", {}, requests);
  EXPECT_EQ(registry.text(),
            "# HELP d3_requests_total Requests.\n"
            "# TYPE d3_requests_total counter\n"
            "d3_requests_total{kind=\"a\\\"b\\\\\\n\"} 2\n"
            "d3_requests_total 2\n"
            "# HELP d3_statuses_total Statuses\\nand more.\n"
            "# TYPE d3_statuses_total counter\n"
            "d3_statuses_total{route=\"/a\",status=\"404\"} 3\n"
            "d3_statuses_total{route=\"/b\",status=\"200\"} 1\n"
            "# HELP d3_time_seconds Times.\n"
            "# TYPE d3_time_seconds histogram\n"
            "d3_time_seconds_bucket{stage=\"parse\",le=\"0.5\"} 2\n"
            "d3_time_seconds_bucket{stage=\"parse\",le=\"1\"} 3\n"
            "d3_time_seconds_bucket{stage=\"parse\",le=\"+Inf\"} 4\n"
            "d3_time_seconds_sum{stage=\"parse\"} 9.5\n"
            "d3_time_seconds_count{stage=\"parse\"} 4\n"
            "# HELP d3_share A share.\n"
            "# TYPE d3_share gauge\n"
            "d3_share 0.25\n");
}

TEST(Metrics, LoseNothingBetweenThreads) {
  Histogram values(count_bounds());
  CounterFamily family({"thread"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10'000; ++i) {
        values.observe(3);
        family.at({std::to_string(t % 2)}).add();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(values.cumulative(values.bounds().size()), 40'000U);
  EXPECT_EQ(values.sum(), 120'000.0);
  EXPECT_EQ(values.cumulative(1), 0U);
  EXPECT_EQ(values.cumulative(2), 40'000U);
  EXPECT_EQ(family.at({"0"}).value(), 20'000U);
}

}  // namespace
}  // namespace d3::metrics
