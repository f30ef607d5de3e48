#include "server/connection.h"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "server/access_log.h"

namespace d3::server {
namespace {

using boost::system::error_code;
using std::chrono::milliseconds;

constexpr size_t kReadSize = 4096;
constexpr size_t kBodyReadSize = 64 << 10;
constexpr size_t kFirstBodySize = 16 << 10;
constexpr size_t kDiscardLimit = 256 << 10;      // of a refused request's body, to keep the connection
constexpr double kSlowestBytesPerSecond = 1024;  // of a body that takes longer than one body_timeout
constexpr milliseconds kLingerTimeout{2000};
constexpr milliseconds kDrainGrace{500};  // for requests that were on their way when the drain began

}  // namespace

Connection::Connection(boost::asio::io_context& io, std::unique_ptr<Stream> stream, Service& service,
                       OnClosed on_closed)
    : stream_(std::move(stream)),
      service_(service),
      on_closed_(std::move(on_closed)),
      timer_(io),
      reader_(service.options().max_header) {}

/// The member as a completion handler. An exception (memory, most likely) ends this connection alone.
template <class... Args>
auto Connection::handler(void (Connection::*member)(Args...)) {
  return [self = shared_from_this(), member](Args... args) {
    try {
      (*self.*member)(std::move(args)...);
    } catch (const std::exception& error) {
      self->service_.log().error("{} connection closed: {}", self->reader_.head().request_id, error.what());
      self->close();
    }
  };
}

void Connection::start() {
  arm(service_.options().header_timeout);
  stream_->open(handler(&Connection::on_open));
}

void Connection::start_refusing(const Error& error) {
  turned_away_ = error;
  start();
}

void Connection::on_open(error_code error, size_t) {
  if (phase_ != Phase::kOpening) return;
  if (error) return close();
  phase_ = Phase::kIdle;
  if (!turned_away_) return advance();
  request_start_ = Clock::now();
  reader_.head().request_id = service_.request_id({});
  refuse(*turned_away_);
}

void Connection::drain() {
  draining_ = true;
  if (phase_ == Phase::kIdle) arm(kDrainGrace);
}

// --- reading

void Connection::read_more() {
  if (reading_ || input_ended_) return;
  const std::span<char> room = reader_.room(phase_ == Phase::kBody ? kBodyReadSize : kReadSize);
  if (room.empty()) return;  // far enough ahead
  reading_ = true;
  stream_->read_some(boost::asio::buffer(room.data(), room.size()), handler(&Connection::on_read));
}

void Connection::on_read(error_code error, size_t size) {
  reading_ = false;
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kLingering) {
    discarded_ += size;
    if (error || discarded_ > kDiscardLimit) return close();
    return read_more();  // into the same room: nothing of it is kept
  }
  if (error) return on_input_end();
  service_.count_bytes_in(size);
  reader_.commit(size);
  if (phase_ == Phase::kAnswering || phase_ == Phase::kWriting || phase_ == Phase::kContinuing)
    return read_more();
  advance();
}

/// Nobody waits for an answer to a request that is not complete, or (being gone) to one that is.
void Connection::on_input_end() {
  input_ended_ = true;
  if (phase_ == Phase::kWriting) return;
  if (phase_ == Phase::kAnswering) {
    const RequestHead& head = reader_.head();
    service_.log().info("{} {} {} closed by the client", head.request_id, loggable(head.method),
                        loggable(head.path));
    service_.count_abandoned();
  }
  close();
}

/// Goes on with what has come.
void Connection::advance() {
  try {
    if (phase_ == Phase::kIdle) {
      if (reader_.buffered() == 0) return wait_for_request();
      phase_ = Phase::kHead;
      request_start_ = Clock::now();
      ++request_number_;
      arm(service_.options().header_timeout);
    }
    if (phase_ == Phase::kHead) return read_head();
    if (phase_ == Phase::kBody) return read_body();
  } catch (const Error& error) {
    keep_alive_ = false;
    if (refusal_) return respond(std::move(*refusal_));
    refuse(error);
  }
}

void Connection::wait_for_request() {
  if (input_ended_) return close();
  arm(draining_ ? kDrainGrace : service_.options().idle_timeout);
  read_more();
}

void Connection::read_head() {
  RequestHead& head = reader_.head();
  const bool complete = [&] {
    try {
      return reader_.read_head();
    } catch (const Error&) {
      head.request_id = service_.request_id(head.sent_request_id);
      throw;
    }
  }();
  if (!complete) return input_ended_ ? close() : read_more();
  head.request_id = service_.request_id(head.sent_request_id);
  keep_alive_ = head.keep_alive;
  body_start_ = Clock::now();
  phase_ = Phase::kBody;
  try {
    admit();
  } catch (const Error& refusal) {
    return refuse_after_body(refusal);
  }
  const bool waits = !head.expect.empty() && head.has_body() && reader_.buffered() == 0;
  return waits ? send_continue() : read_body();
}

void Connection::admit() {
  const RequestHead& head = reader_.head();
  if (head.version >= 11 && head.hosts != 1)
    throw Error(ErrorCode::kInvalidArgument, "the request must have one header host");
  if (!head.transfer_encoding.empty() && !equals_ignoring_case(head.transfer_encoding, "chunked"))
    throw Error(ErrorCode::kInvalidArgument, "transfer-encoding may only be chunked");
  if (!head.expect.empty() && !equals_ignoring_case(head.expect, "100-continue"))
    throw Error(ErrorCode::kInvalidArgument, "expect may only be 100-continue");
  admitted_ = service_.check(head);
  check_size();
  body_.emplace(Body{.bytes = {}, .lease = BodyBudget::Lease(service_.body_budget())});
}

void Connection::check_size() const {
  const auto length = reader_.head().content_length;
  if (length && *length > service_.options().max_body)
    throw Error(ErrorCode::kPayloadTooLarge,
                fmt::format("the body has {} bytes, the limit is {}", *length, service_.options().max_body));
}

void Connection::send_continue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  phase_ = Phase::kContinuing;
  arm(service_.options().write_timeout);
  stream_->write({boost::asio::buffer(kContinue), {}}, handler(&Connection::on_continued));
}

void Connection::on_continued(error_code error, size_t) {
  if (phase_ != Phase::kContinuing) return;
  if (error) return close();
  phase_ = Phase::kBody;
  advance();
}

void Connection::read_body() {
  for (std::string_view piece = reader_.next_piece(); !piece.empty(); piece = reader_.next_piece())
    take(piece);
  if (reader_.done()) return answer();
  if (input_ended_) return close();
  check_pace();
  arm(service_.options().body_timeout);
  read_more();
}

void Connection::take(std::string_view piece) {
  body_size_ += piece.size();
  if (body_size_ > (refusal_ ? kDiscardLimit : service_.options().max_body))
    throw Error(ErrorCode::kPayloadTooLarge,
                fmt::format("the body is over the limit of {} bytes", service_.options().max_body));
  if (body_) make_room(body_size_);
  if (body_) body_->bytes += piece;
}

/// Memory follows what has come, not what is announced.
void Connection::make_room(size_t size) {
  const size_t now = body_->lease.bytes();
  if (size <= now) return;
  const RequestHead& head = reader_.head();
  const size_t announced = std::min<uint64_t>(head.content_length.value_or(SIZE_MAX), SIZE_MAX);
  const size_t next = std::max(size, std::min(announced, std::max(kFirstBodySize, 2 * now)));
  if (body_->lease.grow(next - now)) {
    try {
      return body_->bytes.reserve(next);
    } catch (const std::bad_alloc&) {  // as if the budget were smaller
      service_.log().error("{} no memory for a body of {} bytes", head.request_id, next);
    }
  }
  const Error error(ErrorCode::kOverloaded, "too many large requests are being read; try again later");
  if (head.content_length.value_or(0) > kDiscardLimit) throw Error(error);
  refusal_ = service_.refuse(head, error);
  body_.reset();
}

void Connection::check_pace() const {
  const std::chrono::duration<double> taken = Clock::now() - body_start_;
  if (taken > service_.options().body_timeout &&
      static_cast<double>(body_size_) < taken.count() * kSlowestBytesPerSecond)
    throw Error(ErrorCode::kRequestTimeout, "the body came too slowly");
}

// --- answering

void Connection::answer() {
  if (refusal_) return respond(std::move(*refusal_));
  phase_ = Phase::kAnswering;
  disarm();
  pending_ = service_.answer(*admitted_, reader_.head(), std::move(*body_),
                             [respond = handler(&Connection::on_reply),
                              number = request_number_](Reply reply) { respond(number, std::move(reply)); });
  if (!pending_) return;
  if (input_ended_) return on_input_end();
  read_more();
}

void Connection::on_reply(uint64_t request, Reply reply) {
  if (phase_ == Phase::kAnswering && request == request_number_) respond(std::move(reply));
}

void Connection::refuse(const Error& error) { respond(service_.refuse(reader_.head(), error)); }

/// Keeps the connection where that costs little: the rest of a small body is read and thrown away first.
void Connection::refuse_after_body(const Error& error) {
  const RequestHead& head = reader_.head();
  const bool waits = !head.expect.empty();  // for our word before it sends the body
  const bool small = head.content_length.value_or(0) <= kDiscardLimit;
  if (waits || !small) {
    keep_alive_ = keep_alive_ && reader_.done();
    return refuse(error);
  }
  refusal_ = service_.refuse(head, error);
  body_.reset();
  phase_ = Phase::kBody;
  read_body();
}

void Connection::respond(Reply reply) {
  phase_ = Phase::kWriting;
  pending_.reset();
  body_.reset();
  keep_alive_ = keep_alive_ && !draining_ && !input_ended_;
  reply_ = std::move(reply);
  service_.add_headers(reader_.head(), reply_);
  head_bytes_ = response_head(reply_);
  const bool head_only = reader_.head().method == "HEAD";
  arm(service_.options().write_timeout);
  stream_->write(
      {boost::asio::buffer(head_bytes_), boost::asio::buffer(reply_.body, head_only ? 0 : SIZE_MAX)},
      handler(&Connection::on_written));
}

std::string Connection::response_head(const Reply& reply) const {
  std::string bytes;
  bytes.reserve(512);
  bytes += fmt::format("HTTP/1.1 {} {}\r\nserver: d3\r\ndate: {}\r\n", reply.status,
                       reason_phrase(reply.status), service_.date());
  if (reply.status != 204 && reply.status != 304)
    bytes += fmt::format("content-type: {}\r\ncontent-length: {}\r\n", reply.content_type, reply.body.size());
  for (const auto& [name, value] : reply.headers) bytes += fmt::format("{}: {}\r\n", name, value);
  bytes += fmt::format("connection: {}\r\n\r\n", keep_alive_ ? "keep-alive" : "close");
  return bytes;
}

void Connection::on_written(error_code error, size_t size) {
  if (phase_ != Phase::kWriting) return;
  disarm();
  record(size);
  reply_.body = {};
  if (error || input_ended_) return close();
  if (!keep_alive_) return linger();
  phase_ = Phase::kIdle;
  admitted_.reset();
  refusal_.reset();
  body_size_ = 0;
  reader_.next();
  advance();
}

void Connection::record(size_t bytes_out) {
  service_.record({.head = reader_.head(),
                   .reply = reply_,
                   .body_bytes = body_size_,
                   .bytes_out = bytes_out,
                   .taken = Clock::now() - request_start_});
}

// --- closing

/// Closes in two steps: were the socket closed with input unread, the client could lose the reply.
void Connection::linger() {
  phase_ = Phase::kLingering;
  arm(kLingerTimeout);
  reader_.forget_input();
  if (stream_->finish([self = shared_from_this()](error_code, size_t) { self->close(); }))
    read_more();
  else
    input_ended_ = true;
}

void Connection::close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  disarm();
  timer_.cancel();
  if (pending_) pending_->cancel();
  pending_.reset();
  stream_->close();
  on_closed_(shared_from_this());
}

/// Sets the present phase's deadline. The timer is touched only when it would come too late: it looks at the
/// deadline when it expires, and waits on when that has moved.
void Connection::arm(milliseconds timeout) {
  deadline_ = Clock::now() + timeout;
  if (deadline_ < timer_expiry_) start_timer();
}

void Connection::start_timer() {
  timer_expiry_ = deadline_;
  timer_.expires_at(deadline_);
  timer_.async_wait(handler(&Connection::on_timer));
}

void Connection::on_timer(error_code error) {
  if (error || phase_ == Phase::kClosed) return;  // set anew, or over
  timer_expiry_ = kNever;
  if (deadline_ == kNever) return;
  if (Clock::now() < deadline_) return start_timer();
  on_timeout();
}

void Connection::on_timeout() {
  if (phase_ != Phase::kHead && phase_ != Phase::kBody) return close();
  keep_alive_ = false;
  if (refusal_) return respond(std::move(*refusal_));
  RequestHead& head = reader_.head();
  if (head.request_id.empty()) head.request_id = service_.request_id(head.sent_request_id);
  refuse(Error(ErrorCode::kRequestTimeout,
               fmt::format("the {} did not come in time", phase_ == Phase::kHead ? "headers" : "body")));
}

}  // namespace d3::server
