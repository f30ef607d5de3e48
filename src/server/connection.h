// server/connection.h: one client's connection: reads requests one after the other, answers each in turn.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "server/http.h"
#include "server/request_reader.h"
#include "server/service.h"
#include "server/stream.h"

namespace d3::server {

/// HTTP/1.1 with keep-alive, pipelining (the next request is read when the last is answered), chunked bodies
/// and `Expect: 100-continue`. Every phase has its timeout; a body is never held beyond its limit. When the
/// client closes its side while its request is being answered, the request is cancelled.
/// All members are called on the I/O thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using OnClosed = std::function<void(const std::shared_ptr<Connection>&)>;

  /// on_closed is called once, when the connection has ended.
  Connection(boost::asio::io_context& io, std::unique_ptr<Stream> stream, Service& service,
             OnClosed on_closed);

  void start();
  /// Answers `error` without reading a request, and closes.
  void start_refusing(const Error& error);

  /// Answers what has begun, and a request that comes within a moment, then closes.
  void drain();
  /// Closes at once.
  void abort() { close(); }

 private:
  enum class Phase { kOpening, kIdle, kHead, kContinuing, kBody, kAnswering, kWriting, kLingering, kClosed };

  void on_open(boost::system::error_code error, size_t);

  // Reading. One read is under way at almost any time: it also tells when the client goes away.
  void read_more();
  void on_read(boost::system::error_code error, size_t size);
  void on_input_end();
  void advance();
  void wait_for_request();
  void read_head();
  void admit();
  void check_size() const;
  void send_continue();
  void on_continued(boost::system::error_code error, size_t);
  void read_body();
  void take(std::string_view piece);
  void make_room(size_t size);
  void check_pace() const;

  void answer();
  void on_reply(uint64_t request, Reply reply);
  void refuse(const Error& error);
  void refuse_after_body(const Error& error);
  void respond(Reply reply);
  std::string response_head(const Reply& reply) const;
  void on_written(boost::system::error_code error, size_t size);
  void record(size_t bytes_out);
  void linger();
  void close();

  template <class... Args>
  auto handler(void (Connection::*member)(Args...));
  void arm(std::chrono::milliseconds timeout);
  void disarm() { deadline_ = kNever; }
  void start_timer();
  void on_timer(boost::system::error_code error);
  void on_timeout();

  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  std::unique_ptr<Stream> stream_;
  Service& service_;
  OnClosed on_closed_;
  Phase phase_ = Phase::kOpening;
  bool draining_ = false;
  bool reading_ = false;
  bool input_ended_ = false;          // the client sends nothing more
  std::optional<Error> turned_away_;  // start_refusing

  boost::asio::steady_timer timer_;
  Clock::time_point deadline_ = kNever;      // of the present phase
  Clock::time_point timer_expiry_ = kNever;  // at which the timer looks at the deadline

  RequestReader reader_;
  uint64_t request_number_ = 0;
  std::optional<Admitted> admitted_;
  std::optional<Reply> refusal_;  // to send when the body has been read and thrown away
  bool keep_alive_ = false;
  std::optional<Body> body_;
  size_t body_size_ = 0;  // bytes of the body that have come
  Clock::time_point request_start_;
  Clock::time_point body_start_;
  std::shared_ptr<Pending> pending_;

  Reply reply_;
  std::string head_bytes_;  // what precedes reply_.body on the wire
  size_t discarded_ = 0;
};

}  // namespace d3::server
