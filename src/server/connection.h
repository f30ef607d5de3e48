// server/connection.h: one client's connection: reads requests one after the other, answers each in turn.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "server/http.h"
#include "server/service.h"

namespace d3::server {

/// HTTP/1.1 with keep-alive, pipelining (the next request is read when the last is answered), chunked bodies
/// and `Expect: 100-continue`. Every phase has its timeout; a body is never held beyond its limit. When the
/// client closes its side while its request is being answered, the request is cancelled.
/// All members are called on the I/O thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using OnClosed = std::function<void(const std::shared_ptr<Connection>&)>;

  /// on_closed is called once, when the connection has ended.
  Connection(Socket socket, Service& service, OnClosed on_closed);

  void start();
  /// Answers `error` without reading a request, and closes.
  void start_refusing(const Error& error);

  /// Answers what has begun, and a request that comes within a moment, then closes.
  void drain();
  /// Closes at once.
  void abort();

 private:
  enum class Phase { kIdle, kReading, kAnswering, kWriting, kLingering, kClosed };
  using Parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;

  void await_request();
  void on_first_bytes(boost::system::error_code error, size_t size);
  void read_head();
  void on_head(boost::system::error_code error, size_t size);
  void take_head();
  void admit();
  void check_size() const;
  void send_continue();
  void on_continued(boost::system::error_code error, size_t size);
  void read_body();
  boost::asio::mutable_buffer body_room();
  void on_body(boost::system::error_code error, size_t size);
  void check_pace() const;
  void answer();
  void on_reply(uint64_t request, Reply reply);
  void watch_client();
  void on_client_moved(uint64_t request, boost::system::error_code error);

  void refuse(const Error& error);
  void refuse_after_body(const Error& error);
  void fail_reading(boost::system::error_code error, const char* what);
  void respond(Reply reply);
  void on_written(boost::system::error_code error, size_t size);
  void linger();
  void discard_input();
  void on_discarded(boost::system::error_code error, size_t size);
  void close();

  template <class... Args>
  auto handler(void (Connection::*member)(Args...));
  void arm(std::chrono::milliseconds timeout);
  void disarm();

  Socket socket_;
  Service& service_;
  OnClosed on_closed_;
  boost::asio::steady_timer timer_;
  uint64_t timer_run_ = 0;  // tells an old expiry from the present one
  bool timed_out_ = false;
  bool draining_ = false;
  Phase phase_ = Phase::kIdle;
  uint64_t request_number_ = 0;

  boost::beast::flat_buffer buffer_;  // read and not yet parsed
  std::optional<Parser> parser_;
  RequestHead head_;
  std::optional<Admitted> admitted_;
  std::optional<Reply> refusal_;  // to send when the body has been read and thrown away
  bool keep_alive_ = false;
  std::optional<Body> body_;
  size_t body_size_ = 0;  // bytes of body_ that are filled, or thrown away
  std::chrono::steady_clock::time_point request_start_;
  std::chrono::steady_clock::time_point body_start_;
  std::shared_ptr<Pending> pending_;

  Response response_;
  std::optional<boost::beast::http::response_serializer<boost::beast::http::string_body>> serializer_;
  std::array<char, 4096> discard_{};
  size_t discarded_ = 0;
};

}  // namespace d3::server
