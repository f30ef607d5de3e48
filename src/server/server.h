// server/server.h: the whole server: it listens at once, loads the model beside, answers, and drains.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <spdlog/logger.h>

#include "server/connection.h"
#include "server/listener.h"
#include "server/options.h"
#include "server/readiness.h"
#include "server/service.h"

namespace d3::server {

/// Loads the model. Called once, on a thread of its own; reports the share done, which throws when the server
/// stops meanwhile.
using Load = std::function<ServingModel(const std::function<void(double)>& report)>;

class Server {
 public:
  /// Binds the address and listens; throws as Listener does.
  Server(ServerOptions options, std::shared_ptr<spdlog::logger> log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string address() const { return listener_.address(); }
  uint16_t port() const { return listener_.port(); }

  /// Serves until SIGINT, SIGTERM or stop(), then drains: accepted requests are answered, others refused.
  /// False when the drain took longer than drain_timeout and connections were cut. Throws what `load` throws.
  bool run(Load load);

  /// Makes run() drain and return. Any thread, also before run().
  void stop();

 private:
  void accept(Listener::Socket socket);
  void start_loading(Load load);
  void await_signal();
  void drain();
  void end_drain_when_empty();
  void cut();

  const ServerOptions options_;
  std::shared_ptr<spdlog::logger> log_;
  // Handlers refer to what is below: destroyed last, they are dropped without being called.
  boost::asio::io_context io_{1};
  Readiness readiness_;
  boost::asio::thread_pool workers_;
  Service service_;
  Listener listener_;
  boost::asio::signal_set signals_;
  boost::asio::steady_timer drain_timer_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool draining_ = false;
  bool in_time_ = true;
  std::atomic<bool> stopping_{false};
  std::exception_ptr load_error_;
  std::thread loader_;
};

}  // namespace d3::server
