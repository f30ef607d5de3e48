#include "server/connection.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/socket.h>

namespace d3::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kReadSize = 4096;
constexpr size_t kBufferLimit = 64 << 10;  // beside the header limit: what pipelining may run ahead
constexpr size_t kLoggedPath = 200;
constexpr size_t kFirstBodySize = 16 << 10;
constexpr size_t kDiscardLimit = 256 << 10;      // of a refused request's body, to keep the connection
constexpr double kSlowestBytesPerSecond = 1024;  // of a body that takes longer than one body_timeout
constexpr milliseconds kLingerTimeout{2000};
constexpr milliseconds kDrainGrace{500};  // for requests that were on their way when the drain began

bool is_http_error(const error_code& error) {
  return error.category() == make_error_code(http::error::bad_method).category();
}

/// A path as the log shows it: of bounded length, nothing but visible ASCII.
std::string loggable(std::string_view path) {
  std::string text(path.substr(0, kLoggedPath));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c <= ' ' || c >= '\x7f'; }, '?');
  return text;
}

std::string http_date() {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(std::time(nullptr)));
}

}  // namespace

Connection::Connection(Socket socket, Service& service, OnClosed on_closed)
    : socket_(std::move(socket)),
      service_(service),
      on_closed_(std::move(on_closed)),
      timer_(socket_.get_executor()),
      buffer_(service.options().max_header + kBufferLimit) {
  error_code ignored;
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
}

void Connection::start() { await_request(); }

void Connection::start_refusing(const Error& error) {
  head_.request_id = service_.request_id({});
  keep_alive_ = false;
  request_start_ = steady_clock::now();
  refuse(error);
}

void Connection::drain() {
  draining_ = true;
  if (phase_ == Phase::kIdle) socket_.cancel();  // await_request goes on with the short timeout
}

void Connection::abort() { close(); }

/// The member as a completion handler. An exception (memory, most likely) ends this connection alone.
template <class... Args>
auto Connection::handler(void (Connection::*member)(Args...)) {
  return [self = shared_from_this(), member](Args... args) {
    try {
      (*self.*member)(std::move(args)...);
    } catch (const std::exception& error) {
      self->service_.log().error("{} connection closed: {}", self->head_.request_id, error.what());
      self->close();
    }
  };
}

// --- reading

void Connection::await_request() {
  phase_ = Phase::kIdle;
  if (buffer_.size() > 0) return read_head();
  arm(draining_ ? kDrainGrace : service_.options().idle_timeout);
  socket_.async_read_some(buffer_.prepare(kReadSize), handler(&Connection::on_first_bytes));
}

void Connection::on_first_bytes(error_code error, size_t size) {
  if (phase_ != Phase::kIdle) return;
  disarm();
  if (error == boost::asio::error::operation_aborted && draining_ && !timed_out_) return await_request();
  if (error) return close();
  buffer_.commit(size);
  read_head();
}

void Connection::read_head() {
  phase_ = Phase::kReading;
  request_start_ = steady_clock::now();
  ++request_number_;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(service_.options().max_header));
  parser_->body_limit(boost::none);  // check_size and on_body do it, with our own reply
  parser_->eager(true);
  arm(service_.options().header_timeout);
  http::async_read_header(socket_, buffer_, *parser_, handler(&Connection::on_head));
}

void Connection::on_head(error_code error, size_t) {
  if (phase_ != Phase::kReading) return;
  disarm();
  take_head();
  if (error) return fail_reading(error, "the headers");
  try {
    admit();
  } catch (const Error& refusal) {
    refuse_after_body(refusal);
  }
}

/// Copies what the reply and the log need, also of a request that could not be read to its end.
void Connection::take_head() {
  const auto& message = parser_->get();
  const auto field = [&](http::field name) { return std::string(message[name]); };
  head_ = {.method = std::string(message.method_string()),
           .path = std::string(path_of(message.target())),
           .content_type = field(http::field::content_type),
           .content_encoding = field(http::field::content_encoding),
           .authorization = field(http::field::authorization),
           .request_id = service_.request_id(message["x-request-id"])};
  keep_alive_ = message.keep_alive();
  admitted_.reset();
  refusal_.reset();
  body_.reset();
  body_size_ = 0;
}

void Connection::admit() {
  const auto& message = parser_->get();
  if (message.version() >= 11 && message.count(http::field::host) != 1)
    throw Error(ErrorCode::kInvalidArgument, "the request must have one header host");
  const std::string_view transfer_encoding = message[http::field::transfer_encoding];
  if (!transfer_encoding.empty() && !beast::iequals(transfer_encoding, "chunked"))
    throw Error(ErrorCode::kInvalidArgument, "transfer-encoding may only be chunked");
  admitted_ = service_.check(head_);
  check_size();
  body_.emplace(Body{.bytes = {}, .lease = BodyBudget::Lease(service_.body_budget())});
  const std::string_view expect = message[http::field::expect];
  if (expect.empty() || parser_->is_done()) return read_body();
  if (!beast::iequals(expect, "100-continue"))
    throw Error(ErrorCode::kInvalidArgument, "expect may only be 100-continue");
  send_continue();
}

void Connection::check_size() const {
  const auto length = parser_->content_length();
  if (length && *length > service_.options().max_body)
    throw Error(ErrorCode::kPayloadTooLarge,
                fmt::format("the body has {} bytes, the limit is {}", *length, service_.options().max_body));
}

void Connection::send_continue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  arm(service_.options().write_timeout);
  boost::asio::async_write(socket_, boost::asio::buffer(kContinue), handler(&Connection::on_continued));
}

void Connection::on_continued(error_code error, size_t) {
  if (phase_ != Phase::kReading) return;
  disarm();
  if (error) return close();
  read_body();
}

void Connection::read_body() {
  if (body_size_ == 0) body_start_ = steady_clock::now();
  if (parser_->is_done()) return answer();
  try {
    const boost::asio::mutable_buffer room = body_room();
    parser_->get().body() = {.data = room.data(), .size = room.size(), .more = true};
  } catch (const Error& error) {
    return refuse_after_body(error);
  }
  arm(service_.options().body_timeout);
  http::async_read_some(socket_, buffer_, *parser_, handler(&Connection::on_body));
}

/// Where the next bytes of the body go. Memory follows what has come, not what is announced.
boost::asio::mutable_buffer Connection::body_room() {
  if (!body_) return boost::asio::buffer(discard_);
  std::string& bytes = body_->bytes;
  if (body_size_ == bytes.size()) {
    const auto rest = parser_->content_length_remaining();  // none when chunked
    const size_t more = std::min<uint64_t>(std::max(kFirstBodySize, bytes.size()), rest.value_or(SIZE_MAX));
    if (!body_->lease.grow(more))
      throw Error(ErrorCode::kOverloaded, "too many large requests are being read; try again later");
    bytes.resize(bytes.size() + more);
  }
  return boost::asio::buffer(bytes) + body_size_;
}

void Connection::on_body(error_code error, size_t) {
  if (phase_ != Phase::kReading) return;
  disarm();
  if (error == http::error::need_buffer) error = {};
  if (error) return fail_reading(error, "the body");
  const size_t room = body_ ? body_->bytes.size() - body_size_ : discard_.size();
  body_size_ += room - parser_->get().body().size;
  try {
    check_pace();
    if (body_size_ > (refusal_ ? kDiscardLimit : service_.options().max_body))
      throw Error(ErrorCode::kPayloadTooLarge,
                  fmt::format("the body is over the limit of {} bytes", service_.options().max_body));
  } catch (const Error& refusal) {
    keep_alive_ = false;
    if (refusal_) return respond(std::move(*refusal_));
    return refuse(refusal);
  }
  read_body();
}

void Connection::check_pace() const {
  const std::chrono::duration<double> taken = steady_clock::now() - body_start_;
  if (taken > service_.options().body_timeout &&
      static_cast<double>(body_size_) < taken.count() * kSlowestBytesPerSecond)
    throw Error(ErrorCode::kRequestTimeout, "the body came too slowly");
}

// --- answering

void Connection::answer() {
  if (refusal_) return respond(std::move(*refusal_));
  body_->bytes.resize(body_size_);
  phase_ = Phase::kAnswering;
  pending_ = service_.answer(*admitted_, head_, std::move(*body_),
                             [respond = handler(&Connection::on_reply),
                              number = request_number_](Reply reply) { respond(number, std::move(reply)); });
  if (pending_) watch_client();
}

void Connection::on_reply(uint64_t request, Reply reply) {
  if (phase_ == Phase::kAnswering && request == request_number_) respond(std::move(reply));
}

/// Waits for the client to close its side. What it sends meanwhile stays in the socket.
void Connection::watch_client() {
  socket_.async_wait(Socket::wait_read,
                     [moved = handler(&Connection::on_client_moved),
                      number = request_number_](error_code error) { moved(number, error); });
}

void Connection::on_client_moved(uint64_t request, error_code error) {
  if (error || phase_ != Phase::kAnswering || request != request_number_) return;
  char byte = 0;
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got > 0) return;  // the next request
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return watch_client();
  service_.log().info("{} {} {} closed by the client", head_.request_id, head_.method, loggable(head_.path));
  close();
}

void Connection::refuse(const Error& error) { respond(service_.refuse(head_, error)); }

/// Keeps the connection where that costs little: the rest of a small body is read and thrown away first.
void Connection::refuse_after_body(const Error& error) {
  const auto length = parser_->content_length();
  const bool waits = parser_->get().count(http::field::expect) > 0;  // for our word before it sends the body
  const bool small = length ? *length <= kDiscardLimit : parser_->chunked() || parser_->is_done();
  if (waits || !small) {
    keep_alive_ = keep_alive_ && parser_->is_done();
    return refuse(error);
  }
  refusal_ = service_.refuse(head_, error);
  body_.reset();
  read_body();
}

void Connection::fail_reading(error_code error, const char* what) {
  keep_alive_ = false;
  if (error == boost::asio::error::operation_aborted && timed_out_) {
    if (refusal_) return respond(std::move(*refusal_));
    return refuse(Error(ErrorCode::kRequestTimeout, fmt::format("{} did not come in time", what)));
  }
  if (!is_http_error(error) || error == http::error::end_of_stream || error == http::error::partial_message)
    return close();  // nobody is there to answer
  if (error == http::error::header_limit)
    return refuse(Error(ErrorCode::kHeaderTooLarge, fmt::format("the headers are over the limit of {} bytes",
                                                                service_.options().max_header)));
  refuse(Error(ErrorCode::kInvalidArgument, fmt::format("{} are no valid HTTP: {}", what, error.message())));
}

void Connection::respond(Reply reply) {
  phase_ = Phase::kWriting;
  pending_.reset();
  const bool head_only = head_.method == "HEAD";
  const bool keep = keep_alive_ && !draining_;
  response_ = Response(static_cast<http::status>(reply.status), parser_ ? parser_->get().version() : 11);
  response_.set(http::field::server, "d3");
  response_.set(http::field::date, http_date());
  response_.set(http::field::content_type, reply.content_type);
  response_.set("x-request-id", head_.request_id);
  response_.set("x-typesafe-request-id", head_.request_id);
  if (!reply.allow.empty()) response_.set(http::field::allow, reply.allow);
  if (reply.retry_after) response_.set(http::field::retry_after, std::to_string(reply.retry_after->count()));
  response_.keep_alive(keep);
  keep_alive_ = keep;
  response_.body() = std::move(reply.body);
  response_.prepare_payload();
  serializer_.emplace(response_);
  arm(service_.options().write_timeout);
  auto done = handler(&Connection::on_written);
  if (head_only)
    http::async_write_header(socket_, *serializer_, std::move(done));
  else
    http::async_write(socket_, *serializer_, std::move(done));
}

void Connection::on_written(error_code error, size_t) {
  if (phase_ != Phase::kWriting) return;
  disarm();
  const std::chrono::duration<double, std::milli> taken = steady_clock::now() - request_start_;
  service_.log().info("{} {} {} {} {:.1f} ms", head_.request_id, head_.method, loggable(head_.path),
                      response_.result_int(), taken.count());
  response_.body() = {};
  if (error) return close();
  if (keep_alive_) return await_request();
  linger();
}

// --- closing

/// Closes in two steps: were the socket closed with input unread, the client could lose the reply.
void Connection::linger() {
  phase_ = Phase::kLingering;
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error) return close();
  arm(kLingerTimeout);
  discard_input();
}

void Connection::discard_input() {
  socket_.async_read_some(boost::asio::buffer(discard_), handler(&Connection::on_discarded));
}

void Connection::on_discarded(error_code error, size_t size) {
  if (phase_ != Phase::kLingering) return;
  discarded_ += size;
  if (error || discarded_ > kDiscardLimit) return close();
  discard_input();
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  disarm();
  if (pending_) pending_->cancel();
  pending_.reset();
  error_code ignored;
  socket_.close(ignored);
  on_closed_(shared_from_this());
}

void Connection::arm(milliseconds timeout) {
  timed_out_ = false;
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this(), run = ++timer_run_](error_code error) {
    if (error || run != self->timer_run_) return;
    self->timed_out_ = true;
    error_code ignored;
    self->socket_.cancel(ignored);
  });
}

void Connection::disarm() {
  ++timer_run_;
  timer_.cancel();
}

}  // namespace d3::server
