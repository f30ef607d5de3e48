#include "server/server.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/error.h"
#include "base/thread_pool.h"

namespace d3::server {
namespace {

constexpr int kMostWorkers = 4;

size_t worker_count(int wanted) {
  return static_cast<size_t>(wanted > 0 ? wanted : std::min(available_cpus(), kMostWorkers));
}

}  // namespace

Server::Server(ServerOptions options, std::shared_ptr<spdlog::logger> log)
    : options_(std::move(options)),
      log_(std::move(log)),
      workers_(worker_count(options_.workers)),
      service_(options_, readiness_, io_, workers_, log_),
      listener_(io_, options_.host, options_.port,
                [this](Listener::Socket socket) { accept(std::move(socket)); }),
      signals_(io_),
      drain_timer_(io_) {}

Server::~Server() {
  stopping_ = true;
  if (loader_.joinable()) loader_.join();
  workers_.stop();
  workers_.join();
}

bool Server::run(Load load) {
  await_signal();
  listener_.start();
  start_loading(std::move(load));
  io_.run();
  if (load_error_) std::rethrow_exception(load_error_);
  return in_time_;
}

void Server::stop() {
  boost::asio::post(io_, [this] { drain(); });
}

void Server::start_loading(Load load) {
  loader_ = std::thread([this, load = std::move(load)] {
    try {
      readiness_.set_ready(load([this](double share) {
        if (stopping_) throw Error(ErrorCode::kCancelled, "the server stops");
        readiness_.set_progress(share);
      }));
    } catch (...) {
      if (stopping_) return;
      boost::asio::post(io_, [this, error = std::current_exception()] {
        load_error_ = error;
        drain();
      });
    }
  });
}

void Server::await_signal() {
  signals_.add(SIGINT);
  signals_.add(SIGTERM);
  signals_.async_wait([this](boost::system::error_code error, int signal) {
    if (error) return;
    log_->info("{}: answering what was accepted, then stopping", signal == SIGINT ? "SIGINT" : "SIGTERM");
    signals_.clear();  // a second signal ends the process at once, as is the default
    drain();
  });
}

void Server::accept(Listener::Socket socket) {
  if (connections_.size() >= 2 * options_.max_connections) return;  // as many again are being refused
  const bool full = connections_.size() >= options_.max_connections;
  auto connection = std::make_shared<Connection>(std::move(socket), service_, [this](const auto& closed) {
    connections_.erase(closed);
    end_drain_when_empty();
  });
  connections_.insert(connection);
  if (draining_) connection->drain();
  if (full)
    connection->start_refusing(Error(ErrorCode::kUnavailable, "too many connections; try again later"));
  else
    connection->start();
}

void Server::drain() {
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

void Server::end_drain_when_empty() {
  if (draining_ && connections_.empty()) io_.stop();
}

void Server::cut() {
  log_->warn("{} connections were still open after the drain timeout", connections_.size());
  in_time_ = false;
  const std::vector<std::shared_ptr<Connection>> open(connections_.begin(), connections_.end());
  for (const auto& connection : open) connection->abort();
}

}  // namespace d3::server
