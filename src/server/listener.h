// server/listener.h: the listening socket.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

namespace d3::server {

class Listener {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using OnAccept = std::function<void(Socket)>;

  /// Binds and listens; connections wait in the kernel until start. Throws Error(kUnavailable) whose message
  /// names the address and the reason. port 0 takes a free one.
  Listener(boost::asio::io_context& io, const std::string& host, uint16_t port, OnAccept on_accept);

  /// "127.0.0.1:8000", "[::1]:8000".
  std::string address() const;
  uint16_t port() const;

  void start();
  /// Accepts what the kernel has already accepted for us, then closes.
  void stop();

 private:
  void accept();

  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  OnAccept on_accept_;
};

}  // namespace d3::server
