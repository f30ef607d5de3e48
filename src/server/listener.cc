#include "server/listener.h"

#include <chrono>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace d3::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using boost::system::error_code;

// How long to wait when the process has no file descriptor left for a connection.
constexpr std::chrono::milliseconds kPause{100};

[[noreturn]] void fail(const std::string& address, const std::string& reason, const char* field) {
  throw Error(ErrorCode::kUnavailable, fmt::format("cannot listen on {}: {}", address, reason), field);
}

tcp::endpoint resolve(asio::io_context& io, const std::string& host, uint16_t port) {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return {address, port};
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty()) fail(host, error.message(), "host");
  return found.begin()->endpoint();
}

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

bool is_socket(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

/// Makes way where a server was killed before it could remove its socket.
void remove_if_dead(asio::io_context& io, const std::string& path) {
  if (!is_socket(path)) return;
  stream_protocol::socket probe(io);
  error_code error;
  probe.connect(path, error);
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

/// The address it was bound to, with the port the kernel chose.
tcp::endpoint bound_to(const asio::generic::stream_protocol::endpoint& endpoint) {
  tcp::endpoint tcp;
  tcp.resize(endpoint.size());
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  return tcp;
}

}  // namespace

Listener::Listener(asio::io_context& io, const std::string& host, uint16_t port, OnAccept on_accept)
    : acceptor_(io), pause_(io), on_accept_(std::move(on_accept)) {
  const tcp::endpoint endpoint = resolve(io, host, port);
  try {
    listen(endpoint);
  } catch (const boost::system::system_error& error) {
    fail(text_of(endpoint), error.code().message(), "port");
  }
  const tcp::endpoint bound = bound_to(acceptor_.local_endpoint());
  address_ = text_of(bound);
  port_ = bound.port();
}

Listener::Listener(asio::io_context& io, std::string unix_path, OnAccept on_accept)
    : acceptor_(io), pause_(io), on_accept_(std::move(on_accept)), address_(std::move(unix_path)) {
  try {
    remove_if_dead(io, address_);
    listen(stream_protocol::endpoint(address_));
  } catch (const boost::system::system_error& error) {
    fail(address_, error.code().message(), "unix");
  }
  unix_path_ = address_;
}

Listener::~Listener() { remove_file(); }

void Listener::listen(const Endpoint& endpoint) {
  acceptor_.open(endpoint.protocol());
  if (endpoint.protocol().family() != AF_UNIX) acceptor_.set_option(asio::socket_base::reuse_address(true));
  acceptor_.bind(endpoint);
  acceptor_.listen(asio::socket_base::max_listen_connections);
  acceptor_.non_blocking(true);
}

void Listener::remove_file() {
  if (!unix_path_.empty()) ::unlink(unix_path_.c_str());
  unix_path_.clear();
}

void Listener::start() { accept(); }

void Listener::stop() {
  pause_.cancel();
  if (!acceptor_.is_open()) return;
  error_code error;
  acceptor_.cancel(error);
  for (int i = 0; i < asio::socket_base::max_listen_connections; ++i) {
    Socket socket(acceptor_.get_executor());
    acceptor_.accept(socket, error);
    if (error) break;
    on_accept_(std::move(socket));
  }
  acceptor_.close(error);
  remove_file();
}

void Listener::accept() {
  auto socket = std::make_shared<Socket>(acceptor_.get_executor());
  acceptor_.async_accept(*socket, [this, socket](error_code error) {
    if (!acceptor_.is_open() || error == asio::error::operation_aborted) return;
    if (!error) {
      on_accept_(std::move(*socket));
      return accept();
    }
    pause_.expires_after(kPause);
    pause_.async_wait([this](error_code cancelled) {
      if (!cancelled && acceptor_.is_open()) accept();
    });
  });
}

}  // namespace d3::server
