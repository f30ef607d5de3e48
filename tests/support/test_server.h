// tests/support/test_server.h: a Server in this process around a FakeExecutor; a token is a byte of the
// prompt.
#pragma once

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
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

// Ids of the fake tokenizer's special tokens.
inline constexpr engine::MediaTokens kFakeMediaTokens{
    .image_pad = 256, .video_pad = 257, .vision_start = 258, .vision_end = 259};

/// One token a byte, but for the special tokens of media.
inline std::vector<int32_t> fake_encode(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int32_t>, 4> kSpecial{
      {{"<|image_pad|>", kFakeMediaTokens.image_pad},
       {"<|video_pad|>", kFakeMediaTokens.video_pad},
       {"<|vision_start|>", kFakeMediaTokens.vision_start},
       {"<|vision_end|>", kFakeMediaTokens.vision_end}}};
  std::vector<int32_t> ids;
  while (!text.empty()) {
    const auto* const special =
        std::ranges::find_if(kSpecial, [&](const auto& token) { return text.starts_with(token.first); });
    const bool found = special != kSpecial.end();
    ids.push_back(found ? special->second : int32_t{text.front()});
    text.remove_prefix(found ? special->first.size() : 1);
  }
  return ids;
}

class TestServer {
 public:
  struct Options {
    server::ServerOptions server = {};
    engine::EngineOptions engine = {.max_batch_tokens = 4096};
    std::optional<int64_t> max_length = 100'000;
    server::Load load = {};  ///< instead of the fake model at once
    std::shared_ptr<spdlog::logger> log = {};
    engine::Encode encode = {};                            ///< instead of a token a byte
    std::optional<engine::MediaLoaderOptions> media = {};  ///< none: the model reads no media
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
    parts.encode = options_.encode ? options_.encode : fake_encode;
    if (options_.media) parts.media = {.tokens = kFakeMediaTokens, .options = *options_.media};
    parts.codes = fake_codes();
    parts.executor = std::make_unique<FakeExecutor>(control_);
    return {.model = std::make_unique<engine::DecisionModel>(std::move(parts), options_.engine),
            .served = {.names = {"test-model", "org/test-model"},
                       .created = 1700000000,
                       .max_model_len = options_.max_length,
                       .takes_media = options_.media.has_value(),
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
