#include "server/server.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <thread>
#include <unordered_set>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include "base/error.h"
#include "base/thread_pool.h"
#include "server/connection.h"
#include "server/listener.h"
#include "server/server_metrics.h"
#include "server/service.h"
#include "server/stream.h"

namespace d3::server {
namespace {

constexpr int kMostWorkers = 4;

// They wait for other servers most of their time, each with some threads of its own (engine/media_loader.h).
constexpr size_t kMediaWorkers = 8;

size_t worker_count(int wanted) {
  return static_cast<size_t>(wanted > 0 ? wanted : std::min(available_cpus(), kMostWorkers));
}

std::unique_ptr<TlsContext> make_tls(const ServerOptions& options) {
  if (options.tls_certificate.empty() && options.tls_key.empty()) return nullptr;
  return std::make_unique<TlsContext>(options.tls_certificate, options.tls_key);
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerOptions options, std::shared_ptr<spdlog::logger> log);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::string url() const;
  uint16_t port() const { return listener_.port(); }
  bool run(Load load);
  void stop();

 private:
  Listener make_listener();
  void accept(Stream::Socket socket);
  void start_loading(Load load);
  void await_signal();
  void drain();
  void end_drain_when_empty();
  void cut();

  const ServerOptions options_;
  std::shared_ptr<spdlog::logger> log_;
  const std::unique_ptr<TlsContext> tls_;
  // Handlers refer to what is below: destroyed last, they are dropped without being called.
  boost::asio::io_context io_{1};
  Readiness readiness_;
  ServerMetrics metrics_;
  boost::asio::thread_pool workers_;
  boost::asio::thread_pool media_workers_{kMediaWorkers};
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

Server::Impl::Impl(ServerOptions options, std::shared_ptr<spdlog::logger> log)
    : options_(std::move(options)),
      log_(std::move(log)),
      tls_(make_tls(options_)),
      workers_(worker_count(options_.workers)),
      service_(
          options_, readiness_, metrics_,
          [this](std::function<void()> run) { boost::asio::post(io_, std::move(run)); },
          [this](std::function<void()> run) { boost::asio::post(workers_, std::move(run)); },
          [this](std::function<void()> run) { boost::asio::post(media_workers_, std::move(run)); }, log_),
      listener_(make_listener()),
      signals_(io_),
      drain_timer_(io_) {
  metrics_.add_build(options_.version);
  metrics_.add_readiness(readiness_);
}

Server::Impl::~Impl() {
  stopping_ = true;
  if (loader_.joinable()) loader_.join();
  workers_.stop();
  media_workers_.stop();
  workers_.join();
  media_workers_.join();
}

Listener Server::Impl::make_listener() {
  Listener::OnAccept on_accept = [this](Stream::Socket socket) { accept(std::move(socket)); };
  if (!options_.unix_path.empty()) return Listener(io_, options_.unix_path, std::move(on_accept));
  return Listener(io_, options_.host, options_.port, std::move(on_accept));
}

std::string Server::Impl::url() const {
  if (!options_.unix_path.empty()) return "unix:" + listener_.address();
  return (tls_ ? "https://" : "http://") + listener_.address();
}

bool Server::Impl::run(Load load) {
  await_signal();
  listener_.start();
  start_loading(std::move(load));
  for (;;) {
    try {
      io_.run();
      break;
    } catch (const std::exception& error) {
      // A handler's own errors end its connection; this is memory that ran out between two handlers.
      log_->error(fmt::format("the I/O thread goes on after: {}", error.what()));
    }
  }
  if (load_error_) std::rethrow_exception(load_error_);
  return in_time_;
}

void Server::Impl::stop() {
  boost::asio::post(io_, [this] { drain(); });
}

void Server::Impl::start_loading(Load load) {
  loader_ = std::thread([this, load = std::move(load)] {
    try {
      readiness_.set_ready(load([this](double share) {
                             if (stopping_) throw Error(ErrorCode::kCancelled, "the server stops");
                             readiness_.set_progress(share);
                           }),
                           [this](const ServingModel& model) { metrics_.add_model(model); });
    } catch (...) {
      if (stopping_) return;
      boost::asio::post(io_, [this, error = std::current_exception()] {
        load_error_ = error;
        drain();
      });
    }
  });
}

void Server::Impl::await_signal() {
  signals_.add(SIGINT);
  signals_.add(SIGTERM);
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    log_->info(fmt::format("{}: answering what was accepted, then stopping",
                           signal == SIGINT ? "SIGINT" : "SIGTERM"));
    signals_.clear();  // a second signal ends the process at once, as is the default
    drain();
  });
}

void Server::Impl::accept(Stream::Socket socket) {
  if (connections_.size() >= 2 * options_.max_connections) return;  // as many again are being refused
  const bool full = connections_.size() >= options_.max_connections;
  if (options_.unix_path.empty()) {
    boost::system::error_code ignored;
    socket.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  }
  auto connection = std::make_shared<Connection>(io_, make_stream(std::move(socket), tls_.get()), service_,
                                                 [this](const auto& closed) {
                                                   connections_.erase(closed);
                                                   --metrics_.connections;
                                                   end_drain_when_empty();
                                                 });
  connections_.insert(connection);
  ++metrics_.connections;
  if (full) {
    metrics_.connections_refused.add();
    connection->start_refusing(Error(ErrorCode::kUnavailable, "too many connections; try again later"));
  } else {
    connection->start();
  }
  if (draining_) connection->drain();
}

void Server::Impl::drain() {
  if (draining_) return;
  draining_ = true;
  stopping_ = true;
  readiness_.set_draining();
  listener_.stop();
  drain_timer_.expires_after(options_.drain_timeout);
  drain_timer_.async_wait([this](boost::system::error_code error) {
    if (!error) cut();
  });
  const std::vector<std::shared_ptr<Connection>> open(connections_.begin(), connections_.end());
  for (const auto& connection : open) connection->drain();
  end_drain_when_empty();
}

void Server::Impl::end_drain_when_empty() {
  if (draining_ && connections_.empty()) io_.stop();
}

void Server::Impl::cut() {
  log_->warn(fmt::format("{} connections were still open after the drain timeout", connections_.size()));
  in_time_ = false;
  const std::vector<std::shared_ptr<Connection>> open(connections_.begin(), connections_.end());
  for (const auto& connection : open) connection->abort();
}

Server::Server(ServerOptions options, std::shared_ptr<spdlog::logger> log)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(log))) {}

Server::~Server() = default;

std::string Server::url() const { return impl_->url(); }
uint16_t Server::port() const { return impl_->port(); }
bool Server::run(Load load) { return impl_->run(std::move(load)); }
void Server::stop() { impl_->stop(); }

}  // namespace d3::server
