// server/server.h: the whole server: it listens at once, loads the model beside, answers, and drains.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <spdlog/logger.h>

#include "server/options.h"
#include "server/readiness.h"

namespace d3::server {

/// Loads the model. Called once, on a thread of its own; reports the share done, which throws when the server
/// stops meanwhile.
using Load = std::function<ServingModel(const std::function<void(double)>& report)>;

class Server {
 public:
  /// Binds the address and listens; throws as Listener and TlsContext do.
  Server(ServerOptions options, std::shared_ptr<spdlog::logger> log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// "http://127.0.0.1:8000", "https://[::1]:8000", "unix:/run/d3.sock".
  std::string url() const;
  uint16_t port() const;  ///< 0 for a Unix socket

  /// Serves until SIGINT, SIGTERM or stop(), then drains: accepted requests are answered, others refused.
  /// False when the drain took longer than drain_timeout and connections were cut. Throws what `load` throws.
  bool run(Load load);

  /// Makes run() drain and return. Any thread, also before run().
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace d3::server
