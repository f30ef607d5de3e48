#include "server/listener.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace d3::server {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

// How long to wait when the process has no file descriptor left for a connection.
constexpr std::chrono::milliseconds kPause{100};

tcp::endpoint resolve(boost::asio::io_context& io, const std::string& host, uint16_t port) {
  error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (!error) return {address, port};
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty())
    throw Error(ErrorCode::kUnavailable, fmt::format("cannot listen on {}: {}", host, error.message()),
                "host");
  return found.begin()->endpoint();
}

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

}  // namespace

Listener::Listener(boost::asio::io_context& io, const std::string& host, uint16_t port, OnAccept on_accept)
    : acceptor_(io), pause_(io), on_accept_(std::move(on_accept)) {
  const tcp::endpoint endpoint = resolve(io, host, port);
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (!error) acceptor_.non_blocking(true, error);
  if (error)
    throw Error(ErrorCode::kUnavailable,
                fmt::format("cannot listen on {}: {}", text_of(endpoint), error.message()), "port");
}

std::string Listener::address() const { return text_of(acceptor_.local_endpoint()); }

uint16_t Listener::port() const { return acceptor_.local_endpoint().port(); }

void Listener::start() { accept(); }

void Listener::stop() {
  pause_.cancel();
  if (!acceptor_.is_open()) return;
  error_code error;
  acceptor_.cancel(error);
  for (int i = 0; i < tcp::acceptor::max_listen_connections; ++i) {
    Socket socket = acceptor_.accept(error);
    if (error) break;
    on_accept_(std::move(socket));
  }
  acceptor_.close(error);
}

void Listener::accept() {
  acceptor_.async_accept([this](error_code error, Socket socket) {
    if (!acceptor_.is_open() || error == boost::asio::error::operation_aborted) return;
    if (!error) {
      on_accept_(std::move(socket));
      return accept();
    }
    pause_.expires_after(kPause);
    pause_.async_wait([this](error_code cancelled) {
      if (!cancelled && acceptor_.is_open()) accept();
    });
  });
}

}  // namespace d3::server
