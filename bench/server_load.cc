// server_load: what the server costs when the model costs nothing. Starts a server around an executor with
// constant logits in a process of its own, asks it from keep-alive clients on the same CPUs, and prints
// requests a second, latencies, and the CPU time that each request took in the server's process.
#include <cstdio>
#include <filesystem>
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
#include "server/server.h"
#include "text/tokenizer.h"

namespace {

using namespace d3;

struct Options {
  std::string tokenizer = D3_SOURCE_DIR "/../shared/fixtures/tokenizer-qwen35";
  std::string log = "/dev/null";
  int seconds = 5;
  std::vector<size_t> clients = {1, 8, 64};
  int words = 20;  // of the state: with the rest 120 tokens
};

server::ServingModel make_model(const std::string& tokenizer_directory) {
  auto tokenizer = std::make_shared<text::Tokenizer>(text::Tokenizer::load(tokenizer_directory));
  engine::DecisionModel::Parts parts;
  parts.info.max_length = 32768;
  parts.codes = text::derive_answer_codes(*tokenizer).codes;
  parts.encode = [tokenizer](std::string_view text) { return tokenizer->encode(text); };
  parts.executor = std::make_unique<bench::ConstantExecutor>();
  return {.model = std::make_unique<engine::DecisionModel>(std::move(parts), engine::EngineOptions{}),
          .served = {.names = {"constant"},
                     .created = 0,
                     .max_model_len = 32768,
                     .takes_media = false,
                     .description = "constant logits"}};
}

/// The server's process: writes its port to `ready` and serves until SIGTERM.
int serve(const Options& options, int ready) {
  if (std::freopen(options.log.c_str(), "w", stderr) == nullptr) return 1;
  auto log = std::make_shared<spdlog::logger>("d3", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  server::Server server({.port = 0, .version = "bench"}, log);
  const bool in_time = server.run([&](const auto&) {
    server::ServingModel model = make_model(options.tokenizer);
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
    if (!listening) throw std::runtime_error("the server did not start: is there a tokenizer? (--tokenizer)");
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

int run(const Options& options) {
  const Child child(options);
  const std::string request = make_request(options.words);
  bench::run_load(child.port(), request, 4, std::chrono::milliseconds(500));  // warm
  fmt::print("clients  requests/s  p50 ms  p99 ms  p99/p50  CPU ms/request  failed\n");
  for (const size_t clients : options.clients) {
    const double before = child.cpu();
    const bench::LoadResult result =
        bench::run_load(child.port(), request, clients, std::chrono::seconds(options.seconds));
    const double cpu = (child.cpu() - before) / static_cast<double>(result.answers);
    fmt::print("{:7}  {:10.0f}  {:6.3f}  {:6.3f}  {:7.2f}  {:14.4f}  {:6}\n", clients, result.rate(),
               result.percentile(0.5), result.percentile(0.99),
               result.percentile(0.99) / result.percentile(0.5), cpu, result.failed);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the server around an executor with constant logits.", "server_load");
  app.add_option("--tokenizer", options.tokenizer, "Directory of a tokenizer")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Length of each measurement")->capture_default_str();
  app.add_option("--clients", options.clients, "Connections, a measurement each")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--words", options.words, "Words of the state")->capture_default_str();
  app.add_option("--log", options.log, "Where the server's log goes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "server_load: %s\n", error.what());
    return 1;
  }
}
