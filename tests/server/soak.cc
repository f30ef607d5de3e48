// soak SECONDS CLIENTS [CHECKPOINT]: asks a real `d3 serve --dtype float32` from many clients at once:
// patient and pipelining ones, slow ones, some that go away before their answer, some that send no proper
// HTTP. Every answer is compared with the one that the same request gets alone. At the end SIGTERM comes in
// the middle of it all. Prints what it saw; exits with 1 when an answer was wrong or missing, memory grew or
// a file descriptor was left.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "support/checkpoint_writer.h"
#include "support/http_client.h"
#include "support/probabilities.h"
#include "support/process.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace {

using namespace d3;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using test::HttpClient;
using test::HttpResponse;

constexpr const char* kPath = "/v1/systemone";
#ifdef D3_SANITIZED  // some twenty times slower
constexpr bool kSanitized = true;
constexpr size_t kRequests = 40;
constexpr unsigned kLongState = 150;
#else
constexpr bool kSanitized = false;
constexpr size_t kRequests = 200;
constexpr unsigned kLongState = 300;
#endif
constexpr double kTolerance = 1e-5;
// The server waits 500 ms for requests that were on their way when it began to stop.
constexpr milliseconds kStale{300};
// Between the middle and the last third; a small process's allocator alone moves by more than 1 %.
constexpr double kGrowth = 0.01;
constexpr double kGrowthMiB = 4;

std::string make_request(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  std::string state;
  for (int words = below(10) == 0 ? below(kLongState) : below(80); words > 0; --words)
    state += fmt::format("w{}{}", below(5000), below(12) == 0 ? ".\\n" : " ");
  std::string body = R"({"state":")" + state + R"(","questions":{)";
  for (int question = 0, count = 1 + below(below(5) == 0 ? 20 : 3); question < count; ++question) {
    body += fmt::format(R"({}"q{}":{{"type":"choice","instructions":"Pick {}","criteria":{{)",
                        question > 0 ? "," : "", question, below(1000));
    for (int option = 0, options = 2 + below(6); option < options; ++option)
      body += fmt::format(R"({}"o{}":"{}")", option > 0 ? "," : "", option, below(1000));
    body += "}}";
  }
  return body + "}}";
}

struct Known {
  std::string request;  // the whole HTTP request
  std::vector<double> alone;
};

/// What all clients saw. Thread-safe.
class Seen {
 public:
  /// start: when its request was sent.
  void add_answer(const HttpResponse& response, const Known& known, Clock::time_point start) {
    const std::chrono::duration<double, std::milli> taken = Clock::now() - start;
    const double gap =
        response.status == 200 ? test::largest_gap(test::probabilities_of(response.body), known.alone) : 0;
    const std::lock_guard lock(mutex_);
    if (response.status != 200) {
      ++failed_;
      fmt::print(stderr, "{} {}\n", response.status, response.body);
      return;
    }
    milliseconds_.push_back(taken.count());
    largest_gap_ = std::max(largest_gap_, gap);
    if (!(gap <= kTolerance)) ++wrong_;
  }
  void add_failure(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++failed_;
    fmt::print(stderr, "{}\n", what);
  }
  void add_left() {
    const std::lock_guard lock(mutex_);
    ++left_;
  }
  void add_broken() {
    const std::lock_guard lock(mutex_);
    ++broken_;
  }

  bool good() const { return !milliseconds_.empty() && wrong_ + failed_ == 0; }
  void print() {
    std::ranges::sort(milliseconds_);
    const auto percentile = [&](double p) {
      return milliseconds_.empty()
                 ? 0.0
                 : milliseconds_[static_cast<size_t>(p * static_cast<double>(milliseconds_.size() - 1))];
    };
    fmt::print(
        "{} answers, {} wrong, {} failed; {} went away, {} broken; largest |dp| {:.2g}; ms p50 {:.1f} p99 "
        "{:.1f} max {:.1f}\n",
        milliseconds_.size(), wrong_, failed_, left_, broken_, largest_gap_, percentile(0.5),
        percentile(0.99), percentile(1));
  }

 private:
  std::mutex mutex_;
  std::vector<double> milliseconds_;
  size_t wrong_ = 0;
  size_t failed_ = 0;
  size_t left_ = 0;
  size_t broken_ = 0;
  double largest_gap_ = 0;
};

/// One client: a connection after another, each used in another way.
class Client {
 public:
  Client(uint16_t port, unsigned seed, const std::vector<Known>& known, Seen& seen)
      : port_(port), random_(seed), known_(known), seen_(seen) {}

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      switch (random_() % 8) {
        case 0:
          go_away();
          break;
        case 1:
          ask_slowly();
          break;
        case 2:
          send_broken();
          break;
        case 3:
          pipeline();
          break;
        default:
          ask_patiently(stop);
      }
    }
  }

  /// Asks until the server says that it closes.
  void run_until_closed() {
    HttpClient client(port_);
    for (auto last = Clock::now();;) {
      const Known& known = pick();
      const auto start = Clock::now();
      try {
        client.send(known.request);
        const HttpResponse response = client.receive();
        if (response.status != 503) seen_.add_answer(response, known, start);
        if (response.header("connection") == "close") return;
      } catch (const std::exception& error) {
        if (start - last < kStale) seen_.add_failure(std::string("after SIGTERM: ") + error.what());
        return;
      }
      last = Clock::now();
    }
  }

 private:
  const Known& pick() { return known_[random_() % known_.size()]; }

  void ask_patiently(const std::stop_token& stop) {
    HttpClient client(port_);
    for (unsigned i = 0; i < 20 && !stop.stop_requested(); ++i) {
      const Known& known = pick();
      const auto start = Clock::now();
      client.send(known.request);
      seen_.add_answer(client.receive(), known, start);
    }
  }

  void go_away() {
    HttpClient client(port_);
    client.send(pick().request);
    if (random_() % 2 == 0) std::this_thread::sleep_for(milliseconds(random_() % 30));
    if (random_() % 4 == 0) {
      client.finish_sending();
      client.closed();
    }
    seen_.add_left();
  }

  void ask_slowly() {
    HttpClient client(port_);
    const Known& known = pick();
    const auto start = Clock::now();
    const size_t step = known.request.size() / 20 + 1;
    for (size_t at = 0; at < known.request.size(); at += step) {
      client.send(std::string_view(known.request).substr(at, step));
      std::this_thread::sleep_for(milliseconds(random_() % 10));
    }
    seen_.add_answer(client.receive(), known, start);
  }

  void pipeline() {
    HttpClient client(port_);
    std::vector<const Known*> asked;
    std::string requests;
    for (int i = 0; i < 4; ++i) {
      asked.push_back(&pick());
      requests += asked.back()->request;
    }
    const auto start = Clock::now();
    client.send(requests);
    for (const Known* known : asked) seen_.add_answer(client.receive(), *known, start);
  }

  /// A request with a few bytes changed, or cut; whatever comes back is read.
  void send_broken() {
    std::string bytes = pick().request;
    if (random_() % 2 == 0) bytes.resize(random_() % bytes.size());
    for (unsigned i = random_() % 4; i > 0 && !bytes.empty(); --i)
      bytes[random_() % std::min<size_t>(bytes.size(), 300)] = static_cast<char>(random_());
    try {
      HttpClient client(port_);
      client.send(bytes);
      client.finish_sending();
      client.closed();
    } catch (const std::exception&) {  // it may be cut off at any point
    }
    seen_.add_broken();
  }

  const uint16_t port_;
  std::mt19937 random_;
  const std::vector<Known>& known_;
  Seen& seen_;
};

/// The server's process, watched from outside.
class Watch {
 public:
  explicit Watch(pid_t pid) : directory_("/proc/" + std::to_string(pid)) {}

  void sample() { resident_.push_back(resident_mib()); }
  size_t open_files() const {
    const std::filesystem::directory_iterator files(directory_ / "fd");
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }
  /// Prints the middle and the last third's mean; whether the last is not above it.
  bool is_flat() const {
    const size_t third = resident_.size() / 3;
    const auto mean = [&](size_t from) {
      const auto first = resident_.begin() + static_cast<std::ptrdiff_t>(from);
      return std::accumulate(first, first + static_cast<std::ptrdiff_t>(third), 0.0) /
             static_cast<double>(third);
    };
    if (third == 0) return false;
    const double middle = mean(third);
    const double last = mean(resident_.size() - third);
    fmt::print("resident MiB: {:.1f} in the middle third, {:.1f} in the last ({:+.2f} %)\n", middle, last,
               (last / middle - 1) * 100);
    // A sanitizer keeps what was freed.
    return kSanitized || last <= middle + std::max(middle * kGrowth, kGrowthMiB);
  }

 private:
  double resident_mib() const {
    std::ifstream file(directory_ / "statm");
    double all = 0;
    double resident = 0;
    file >> all >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
  }

  std::filesystem::path directory_;
  std::vector<double> resident_;
};

std::vector<Known> ask_alone(uint16_t port) {
  std::mt19937 random(1);
  std::vector<Known> known;
  HttpClient client(port);
  while (known.size() < kRequests) {
    const std::string body = make_request(random);
    const HttpResponse response = client.post(kPath, body);
    if (response.status != 200) throw std::runtime_error(response.body);
    known.push_back(
        {.request = test::post_request(kPath, body), .alone = test::probabilities_of(response.body)});
  }
  return known;
}

/// Whether as many files are open as before, once the server has seen the last clients go.
bool has_closed_all(const Watch& watch, size_t before) {
  for (int i = 0; i < 200 && watch.open_files() > before; ++i) std::this_thread::sleep_for(milliseconds(50));
  fmt::print("open files: {} before, {} after\n", before, watch.open_files());
  return watch.open_files() <= before;
}

/// Runs `run` on a thread for each client; what they throw is a failure.
template <class Run>
std::vector<std::jthread> start_clients(unsigned count, uint16_t port, const std::vector<Known>& known,
                                        Seen& seen, Run run) {
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < count; ++i)
    threads.emplace_back([=, &known, &seen](const std::stop_token& stop) {
      try {
        Client client(port, i + 1, known, seen);
        run(client, stop);
      } catch (const std::exception& error) {
        seen.add_failure(error.what());
      }
    });
  return threads;
}

int soak(std::chrono::seconds duration, unsigned clients, const std::string& checkpoint) {
  test::ServeProcess server(
      {checkpoint, "--dtype", "float32", "--log-level", "warn", "--drain-timeout", "200"});
  server.wait_until_ready();
  Watch watch(server.pid());
  const std::vector<Known> known = ask_alone(server.port());
  std::this_thread::sleep_for(milliseconds(500));
  const size_t files = watch.open_files();
  Seen seen;
  {
    auto threads = start_clients(clients, server.port(), known, seen,
                                 [](Client& client, const auto& stop) { client.run(stop); });
    for (const auto end = Clock::now() + duration; Clock::now() < end;) {
      std::this_thread::sleep_for(milliseconds(500));
      watch.sample();
    }
    for (std::jthread& thread : threads) thread.request_stop();
  }
  seen.print();
  const bool closed = has_closed_all(watch, files);
  const bool flat = watch.is_flat();
  Seen at_the_end;
  {
    const auto threads = start_clients(clients, server.port(), known, at_the_end,
                                       [](Client& client, const auto&) { client.run_until_closed(); });
    std::this_thread::sleep_for(milliseconds(1000));
    server.signal(SIGTERM);
  }
  const int exit_code = server.wait();
  fmt::print("while SIGTERM came: ");
  at_the_end.print();
  fmt::print("exit code {}\n", exit_code);
  return seen.good() && at_the_end.good() && closed && flat && exit_code == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fputs("usage: soak SECONDS CLIENTS [CHECKPOINT]\n", stderr);
    return 2;
  }
  try {
    const test::TemporaryDirectory directory;
    std::string checkpoint = directory.path().string();
    if (argc == 4) {
      checkpoint = argv[3];
    } else {
      const auto tokenizer = test::data_path("tokenizer-small");
      test::write_checkpoint(test::preset("micro", tokenizer), tokenizer, directory.path());
    }
    return soak(std::chrono::seconds(std::atoi(argv[1])), static_cast<unsigned>(std::atoi(argv[2])),
                checkpoint);
  } catch (const std::exception& error) {
    fmt::print(stderr, "soak: {}\n", error.what());
    return 1;
  }
}
