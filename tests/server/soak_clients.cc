// soak_clients PORT SECONDS CLIENTS: asks a running `d3 serve --dtype float32` from many clients at once,
// some of which go away before their answer, and compares each answer with the one the same request gets
// alone. Prints what it saw; exits with 1 when an answer was wrong or missing.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "support/http_client.h"
#include "support/probabilities.h"

namespace {

using Clock = std::chrono::steady_clock;
using d3::test::HttpClient;

constexpr const char* kPath = "/v1/systemone";
constexpr size_t kRequests = 200;
constexpr double kTolerance = 1e-5;

std::string make_request(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  std::string state;
  for (int words = below(10) == 0 ? below(1500) : below(80); words > 0; --words)
    state += fmt::format("w{}{}", below(5000), below(12) == 0 ? ".\\n" : " ");
  std::string body = R"({"state":")" + state + R"(","questions":{)";
  for (int question = 0, count = 1 + below(below(5) == 0 ? 20 : 3); question < count; ++question) {
    body += std::string(question > 0 ? "," : "") + "\"q" + std::to_string(question) +
            R"(":{"type":"choice",)" + R"("instructions":"Pick )" + std::to_string(below(1000)) +
            R"(","criteria":{)";
    for (int option = 0, options = 2 + below(6); option < options; ++option)
      body += std::string(option > 0 ? "," : "") + "\"o" + std::to_string(option) + "\":\"" +
              std::to_string(below(1000)) + "\"";
    body += "}}";
  }
  return body + "}}";
}

struct Seen {
  std::mutex mutex;
  std::vector<double> milliseconds;
  size_t wrong = 0;
  size_t failed = 0;
  size_t left = 0;
  double largest_gap = 0;
};

struct Known {
  std::string request;
  std::vector<double> alone;
};

void ask_once(HttpClient& client, const Known& known, Seen& seen) {
  const auto start = Clock::now();
  const d3::test::HttpResponse response = client.post(kPath, known.request);
  const std::chrono::duration<double, std::milli> taken = Clock::now() - start;
  const double gap = response.status == 200
                         ? d3::test::largest_gap(d3::test::probabilities_of(response.body), known.alone)
                         : 0;
  const std::lock_guard lock(seen.mutex);
  if (response.status != 200) {
    ++seen.failed;
    std::fprintf(stderr, "%d %s\n", response.status, response.body.c_str());
    return;
  }
  seen.milliseconds.push_back(taken.count());
  seen.largest_gap = std::max(seen.largest_gap, gap);
  if (!(gap <= kTolerance)) ++seen.wrong;
}

void run_client(uint16_t port, unsigned seed, Clock::time_point end, const std::vector<Known>& known,
                Seen& seen) {
  std::mt19937 random(seed);
  while (Clock::now() < end) {
    HttpClient client(port);
    for (unsigned i = 0; i < 20 && Clock::now() < end; ++i)
      ask_once(client, known[random() % known.size()], seen);
    if (random() % 2 == 0) {  // asks, and does not wait for the answer
      client.send(d3::test::post_request(kPath, known[random() % known.size()].request));
      const std::lock_guard lock(seen.mutex);
      ++seen.left;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: soak_clients PORT SECONDS CLIENTS\n", stderr);
    return 2;
  }
  const auto port = static_cast<uint16_t>(std::atoi(argv[1]));
  const auto clients = static_cast<unsigned>(std::atoi(argv[3]));
  std::mt19937 random(1);
  std::vector<Known> known;
  HttpClient client(port);
  while (known.size() < kRequests) {
    std::string request = make_request(random);
    std::vector<double> alone = d3::test::probabilities_of(client.post(kPath, request).body);
    known.push_back({.request = std::move(request), .alone = std::move(alone)});
  }
  Seen seen;
  const auto end = Clock::now() + std::chrono::seconds(std::atoi(argv[2]));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < clients; ++i)
    threads.emplace_back([&, i] {
      try {
        run_client(port, i + 1, end, known, seen);
      } catch (const std::exception& error) {
        const std::lock_guard lock(seen.mutex);
        std::fprintf(stderr, "%s\n", error.what());
        ++seen.failed;
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::sort(seen.milliseconds.begin(), seen.milliseconds.end());
  const auto percentile = [&](double p) {
    return seen.milliseconds.empty() ? 0.0
                                     : seen.milliseconds[static_cast<size_t>(
                                           p * static_cast<double>(seen.milliseconds.size() - 1))];
  };
  std::printf(
      "%zu answers from %u clients, %zu wrong, %zu failed, %zu left unread; largest |dp| %.2g; ms p50 %.1f "
      "p99 %.1f max %.1f\n",
      seen.milliseconds.size(), clients, seen.wrong, seen.failed, seen.left, seen.largest_gap,
      percentile(0.5), percentile(0.99), percentile(1));
  return seen.wrong + seen.failed > 0 ? 1 : 0;
}
