// server/listener.h: the listening socket.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/stream.h"

namespace d3::server {

class Listener {
 public:
  using Socket = Stream::Socket;
  using OnAccept = std::function<void(Socket)>;

  /// Binds and listens; connections wait in the kernel until start. Throws Error(kUnavailable) whose message
  /// names the address and the reason. port 0 takes a free one.
  Listener(boost::asio::io_context& io, const std::string& host, uint16_t port, OnAccept on_accept);
  /// A Unix socket. A file that nobody listens on any more is replaced; it is removed in the end.
  Listener(boost::asio::io_context& io, std::string unix_path, OnAccept on_accept);
  ~Listener();

  /// "127.0.0.1:8000", "[::1]:8000", or the Unix socket's path.
  const std::string& address() const { return address_; }
  uint16_t port() const { return port_; }  ///< 0 for a Unix socket

  void start();
  /// Accepts what the kernel has already accepted for us, then closes.
  void stop();

 private:
  using Endpoint = boost::asio::generic::stream_protocol::endpoint;

  void listen(const Endpoint& endpoint);
  void accept();
  void remove_file();

  boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol> acceptor_;
  boost::asio::steady_timer pause_;
  OnAccept on_accept_;
  std::string unix_path_;
  std::string address_;
  uint16_t port_ = 0;
};

}  // namespace d3::server
