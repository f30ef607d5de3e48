// server_load: a server under load from keep-alive clients on the same CPUs: requests a second, latencies,
// and the CPU time that each request took in the server's process.
//
// By default the server has an executor with constant logits, so that only the server is measured. With
// --checkpoint it has a model; then the same prompts are also computed as packed batches without a server,
// and the table says which share of that speed it reaches and how long a request may wait by docs/serving.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/constant_executor.h"
#include "bench/load_clients.h"
#include "engine/load.h"
#include "server/server.h"
#include "speed/forward_speed.h"
#include "text/tokenizer.h"

namespace {

using namespace d3;

struct Options {
  std::string tokenizer = D3_SOURCE_DIR "/../shared/fixtures/tokenizer-qwen35";
  std::string checkpoint;  // none: constant logits
  std::string dtype = "bfloat16";
  int64_t max_batch_tokens = engine::EngineOptions{}.max_batch_tokens;
  std::string log = "/dev/null";
  int seconds = 5;
  std::optional<size_t> rounds;
  std::vector<size_t> clients = {1, 8, 64};
  int words = 20;  // of the state: with the rest 120 tokens
  bool packed = true;
};

std::unique_ptr<engine::DecisionModel> make_model(const Options& options) {
  if (!options.checkpoint.empty())
    return engine::load_model({.directory = std::filesystem::path(options.checkpoint),
                               .verify = checkpoint::Verify::kNone,
                               .dtype = *cpu::dtype_from_name(options.dtype),
                               .max_length = {},
                               .engine = {.max_batch_tokens = options.max_batch_tokens},
                               .media = {}});
  auto tokenizer =
      std::make_shared<text::Tokenizer>(text::Tokenizer::load(std::filesystem::path(options.tokenizer)));
  engine::DecisionModel::Parts parts;
  parts.info.max_length = 32768;
  parts.codes = text::derive_answer_codes(*tokenizer).codes;
  parts.encode = [tokenizer](std::string_view text) { return tokenizer->encode(text); };
  parts.executor = std::make_unique<bench::ConstantExecutor>();
  return std::make_unique<engine::DecisionModel>(
      std::move(parts), engine::EngineOptions{.max_batch_tokens = options.max_batch_tokens});
}

/// The server's process: writes its port to `ready` and serves until SIGTERM.
int serve(const Options& options, int ready) {
  if (std::freopen(options.log.c_str(), "w", stderr) == nullptr) return 1;
  auto log = std::make_shared<spdlog::logger>("d3", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  server::Server server({.port = 0, .version = "bench"}, log);
  const bool in_time = server.run([&](const auto&) {
    server::ServingModel model{.model = make_model(options),
                               .served = {.names = {"bench"},
                                          .created = 0,
                                          .max_model_len = 32768,
                                          .takes_media = false,
                                          .description = "under load"}};
    const uint16_t port = server.port();
    if (::write(ready, &port, sizeof port) != sizeof port) throw std::runtime_error("the bench has gone");
    return model;
  });
  return in_time ? 0 : 1;
}

/// The server's process, stopped on destruction.
class Child {
 public:
  explicit Child(const Options& options) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      ::_exit(serve(options, ends[1]));
    }
    ::close(ends[1]);
    const bool listening = ::read(ends[0], &port_, sizeof port_) == sizeof port_;
    ::close(ends[0]);
    if (!listening)
      throw std::runtime_error(
          "the server did not start: is there a tokenizer (--tokenizer) or a --checkpoint? See --log");
  }
  ~Child() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  uint16_t port() const { return port_; }
  /// CPU time of all its threads so far, in milliseconds.
  double cpu() const {
    clockid_t clock = 0;
    timespec time{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
      throw std::runtime_error("no CPU clock of the server");
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
  }

 private:
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

/// What the machine's CPUs did since it was started, in ticks (proc(5), /proc/stat).
struct MachineTime {
  double all = 0;
  double stolen = 0;  // a virtual machine's CPU was ready and its host ran others

  static MachineTime now() {
    std::ifstream file("/proc/stat");
    std::string name;
    file >> name;
    MachineTime time;
    for (int column = 0; column < 8; ++column) {
      double ticks = 0;
      file >> ticks;
      time.all += ticks;
      if (column == 7) time.stolen = ticks;
    }
    return time;
  }
  double stolen_percent_since(const MachineTime& before) const {
    return 100 * (stolen - before.stolen) / std::max(1.0, all - before.all);
  }
};

std::string make_request(int words) {
  std::string state = "The parcel";
  for (int i = 0; i < words; ++i) state += i % 5 == 4 ? " late," : " was";
  const std::string body =
      R"({"state":")" + state +
      R"(","questions":{"kind":{"type":"choice","instructions":"What kind of message is this?","criteria":{"order":"About an order","refund":"About a refund","other":null}}}})";
  return fmt::format(
      "POST /v1/systemone HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: "
      "{}\r\n\r\n{}",
      body.size(), body);
}

/// Tokens a second of as many questions of `tokens` tokens as `total` has, in batches as full as the
/// server's.
double packed_rate(const Options& options, int tokens, size_t total) {
  const auto checkpoint =
      checkpoint::Checkpoint::open(std::filesystem::path(options.checkpoint), checkpoint::Verify::kNone);
  cpu::ExecutorOptions executor;
  executor.dtype = *cpu::dtype_from_name(options.dtype);
  speed::ForwardSpeed speed(checkpoint, executor);
  const auto whole = static_cast<size_t>(std::max<int64_t>(1, options.max_batch_tokens / tokens));
  const std::vector<int> lengths(std::min(total, whole), tokens);
  const speed::PassSpeed pass = speed.packed(lengths, {.count = 1, .warm_up = true, .products = false});
  return static_cast<double>(pass.tokens) / pass.seconds;
}

struct Row {
  size_t clients = 0;
  bench::LoadResult load;
};

/// docs/serving.md: the running batch, then full batches of all that waits; its own is the last of them.
double longest_wait(const Options& options, const Row& row, int tokens, double rate) {
  const auto per_batch = std::max<int64_t>(1, options.max_batch_tokens / tokens);
  const auto batches = 1 + std::ceil(static_cast<double>(row.clients) / static_cast<double>(per_batch));
  return batches * static_cast<double>(per_batch * tokens) / rate;
}

int tokens_of(uint16_t port, const std::string& request) {
  std::string answer = bench::ask_once(port, request);
  while (answer.starts_with("HTTP/1.1 503")) {  // the last moment of loading
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    answer = bench::ask_once(port, request);
  }
  constexpr std::string_view kField = "\"input_tokens\":";
  const size_t at = answer.find(kField);
  if (at == std::string::npos) throw std::runtime_error(answer);
  return std::stoi(answer.substr(at + kField.size()));
}

/// One measurement for each number of clients, as lines of the table.
std::vector<Row> load(const Options& options, const std::string& request, int& tokens) {
  const Child child(options);
  tokens = tokens_of(child.port(), request);
  if (options.checkpoint.empty())  // warm
    bench::run_load(child.port(), request,
                    {.clients = 4, .duration = std::chrono::milliseconds(500), .rounds = {}});
  fmt::print("{} tokens a request\n", tokens);
  fmt::print(
      "clients  requests/s  tokens/s     p50 ms     p99 ms  p99/p50  CPU ms/request  failed  stolen %\n");
  std::vector<Row> rows;
  for (const size_t clients : options.clients) {
    const double before = child.cpu();
    const MachineTime start = MachineTime::now();
    const bench::LoadResult result = bench::run_load(
        child.port(), request,
        {.clients = clients, .duration = std::chrono::seconds(options.seconds), .rounds = options.rounds});
    const double cpu = (child.cpu() - before) / static_cast<double>(result.answers);
    const double p50 = result.percentile(0.5);
    const double p99 = result.percentile(0.99);
    fmt::print("{:7}  {:10.2f}  {:8.0f}  {:9.3f}  {:9.3f}  {:7.2f}  {:14.4f}  {:6}  {:8.1f}\n", clients,
               result.rate(), result.rate() * tokens, p50, p99, p99 / p50, cpu, result.failed,
               MachineTime::now().stolen_percent_since(start));
    std::fflush(stdout);
    rows.push_back({.clients = clients, .load = result});
  }
  return rows;
}

/// The same prompts without the server, before and after it: machines are not equally fast all the time.
void compare_with_packed(const Options& options, const std::string& request) {
  int tokens = 0;
  std::vector<double> before;
  if (options.packed) {
    {
      const Child child(options);
      tokens = tokens_of(child.port(), request);
    }
    for (const size_t clients : options.clients) before.push_back(packed_rate(options, tokens, clients));
  }
  const std::vector<Row> rows = load(options, request, tokens);
  for (size_t i = 0; options.packed && i < rows.size(); ++i) {
    const double after = packed_rate(options, tokens, rows[i].clients);
    const double rate = (before[i] + after) / 2;
    fmt::print(
        "{:7}  packed batches alone: {:.1f} and {:.1f} tokens/s, with the server {:.3f} of that; a request "
        "waits at most {:.0f} ms\n",
        rows[i].clients, before[i], after, rows[i].load.rate() * tokens / rate,
        1e3 * longest_wait(options, rows[i], tokens, rate));
    std::fflush(stdout);
  }
}

int run(const Options& options) {
  const std::string request = make_request(options.words);
  int tokens = 0;
  if (options.checkpoint.empty())
    load(options, request, tokens);
  else
    compare_with_packed(options, request);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures a server under load, around constant logits or a model.", "server_load");
  app.add_option("--tokenizer", options.tokenizer, "Directory of a tokenizer, for constant logits")
      ->capture_default_str();
  app.add_option("--checkpoint", options.checkpoint, "Directory of a model to serve");
  app.add_option("--dtype", options.dtype)
      ->check(CLI::IsMember({"float32", "bfloat16", "int8"}))
      ->capture_default_str();
  app.add_option("--max-batch-tokens", options.max_batch_tokens)->capture_default_str();
  app.add_option("--seconds", options.seconds, "Length of each measurement")->capture_default_str();
  app.add_option("--rounds", options.rounds, "Requests of each client, instead of a time");
  app.add_option("--clients", options.clients, "Connections, a measurement each")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--words", options.words, "Words of the state")->capture_default_str();
  app.add_option("--log", options.log, "Where the server's log goes")->capture_default_str();
  app.add_flag("--packed,!--no-packed", options.packed, "Time packed batches without the server, too");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "server_load: %s\n", error.what());
    return 1;
  }
}
