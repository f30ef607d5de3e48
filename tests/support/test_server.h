// tests/support/test_server.h: a Server in this process around a FakeExecutor; a token is a byte of the
// prompt.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include "server/server.h"
#include "support/fake_executor.h"
#include "support/http_client.h"

namespace d3::test {

inline std::vector<std::string> fake_codes() {
  std::vector<std::string> codes;
  for (char a = 'A'; a <= 'Z'; ++a) codes.emplace_back(1, a);
  for (char a = 'A'; a <= 'Z' && codes.size() < model::kAnswerCodes; ++a)
    for (char b = 'A'; b <= 'Z' && codes.size() < model::kAnswerCodes; ++b) codes.push_back({a, b});
  return codes;
}

class TestServer {
 public:
  struct Options {
    server::ServerOptions server = {};
    engine::EngineOptions engine = {.max_batch_tokens = 4096};
    std::optional<int64_t> max_length = 100'000;
    server::Load load = {};  ///< instead of the fake model at once
    std::shared_ptr<spdlog::logger> log = {};
    engine::Encode encode = {};  ///< instead of a token a byte
  };

  TestServer() : TestServer(Options{}) {}
  explicit TestServer(Options options) : options_(std::move(options)) {
    options_.server.port = 0;
    options_.server.version = "1.2.3";
    if (!options_.log)
      options_.log =
          std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
    server_ = std::make_unique<server::Server>(options_.server, options_.log);
    if (!options_.load) options_.load = [this](const auto&) { return fake_model(); };
    std::packaged_task<bool()> run([this] { return server_->run(options_.load); });
    result_ = run.get_future();
    thread_ = std::thread(std::move(run));
  }
  ~TestServer() {
    executor().open();
    server_->stop();
    if (thread_.joinable()) thread_.join();
  }

  uint16_t port() const { return server_->port(); }
  FakeExecutorControl& executor() { return *control_; }
  void stop() { server_->stop(); }
  /// What Server::run returned or threw.
  bool result() { return result_.get(); }
  HttpClient client() const { return HttpClient(port()); }
  /// A client once the model can be asked.
  HttpClient ready_client() const {
    HttpClient client(port());
    while (client.get("/health").status != 200) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return client;
  }

  server::ServingModel fake_model() const {
    engine::DecisionModel::Parts parts;
    parts.info.max_length = options_.max_length;
    parts.encode = options_.encode;
    if (!parts.encode)
      parts.encode = [](std::string_view text) { return std::vector<int32_t>(text.begin(), text.end()); };
    parts.codes = fake_codes();
    parts.executor = std::make_unique<FakeExecutor>(control_);
    return {.model = std::make_unique<engine::DecisionModel>(std::move(parts), options_.engine),
            .served = {.names = {"test-model", "org/test-model"},
                       .created = 1700000000,
                       .max_model_len = options_.max_length,
                       .takes_media = false,
                       .description = "a test"}};
  }

 private:
  Options options_;
  std::shared_ptr<FakeExecutorControl> control_ = std::make_shared<FakeExecutorControl>();
  std::unique_ptr<server::Server> server_;
  std::future<bool> result_;
  std::thread thread_;
};

}  // namespace d3::test
