#include "server/request_reader.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include <boost/beast/http/basic_parser.hpp>
#include <fmt/format.h>

#include "server/routes.h"

namespace d3::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using beast::string_view;
using boost::system::error_code;

constexpr size_t kReadAhead = 64 << 10;  // beside the head: what a client may send before it is read
constexpr size_t kKeptBuffer = 16 << 10;
constexpr size_t kLastChunk = 5;  // "0" CRLF CRLF: no body in chunks ends with less

std::string_view view(string_view text) { return {text.data(), text.size()}; }

}  // namespace

/// Takes what Beast's parser finds: the fields that matter, and one piece of the body at a time.
class RequestReader::Parser final : public http::basic_parser<true> {
 public:
  explicit Parser(RequestHead& head) : head_(head) {}

  string_view piece() const { return piece_; }
  void forget_piece() { piece_ = {}; }

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code&) override {
    head_.method = view(method);
    head_.target = view(target);
    head_.path = path_of(head_.target);
    head_.version = version;
  }

  void on_field_impl(http::field field, string_view name, string_view value, error_code&) override {
    if (complete_) return;  // a trailer after the body: it may change nothing
    if (field == http::field::host) ++head_.hosts;
    std::string* known = place_of(field, name);
    if (known != nullptr && known->empty()) *known = view(value);
  }

  std::string* place_of(http::field field, string_view name) {
    switch (field) {
      case http::field::content_type:
        return &head_.content_type;
      case http::field::content_encoding:
        return &head_.content_encoding;
      case http::field::accept_encoding:
        return &head_.accept_encoding;
      case http::field::if_none_match:
        return &head_.if_none_match;
      case http::field::transfer_encoding:
        return &head_.transfer_encoding;
      case http::field::expect:
        return &head_.expect;
      case http::field::authorization:
        return &head_.authorization;
      case http::field::origin:
        return &head_.origin;
      case http::field::access_control_request_method:
        return &head_.requested_method;
      case http::field::access_control_request_headers:
        return &head_.requested_headers;
      case http::field::unknown:
        return beast::iequals(name, "x-request-id") ? &head_.sent_request_id : nullptr;
      default:
        return nullptr;
    }
  }

  void on_header_impl(error_code&) override { complete_ = true; }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  void on_finish_impl(error_code&) override {}

  size_t on_body_impl(string_view body, error_code&) override {
    piece_ = body;
    return body.size();
  }
  size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
    piece_ = body;
    return body.size();
  }

  RequestHead& head_;
  bool complete_ = false;
  string_view piece_;
};

RequestReader::RequestReader(size_t max_head) : max_head_(max_head) { next(); }

RequestReader::~RequestReader() = default;

std::span<char> RequestReader::room(size_t wanted) {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    if (buffer_.size() > kKeptBuffer && wanted <= kKeptBuffer) buffer_ = {};
  }
  wanted = std::min(wanted, max_head_ + kReadAhead - buffered());
  if (buffer_.size() - end_ < wanted) {
    const auto at = [&](size_t i) { return buffer_.begin() + static_cast<ptrdiff_t>(i); };
    std::copy(at(begin_), at(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    if (buffer_.size() - end_ < wanted) buffer_.resize(end_ + wanted);
  }
  return {buffer_.data() + end_, wanted};
}

void RequestReader::commit(size_t size) { end_ += size; }

void RequestReader::next() {
  head_ = {};
  head_size_ = 0;
  head_checked_ = 0;
  waits_ = false;
  parser_ = std::make_unique<Parser>(head_);
  parser_->eager(false);              // one part at a time
  parser_->body_limit(boost::none);   // the caller's to check
  parser_->header_limit(UINT32_MAX);  // Beast would count each read anew
}

bool RequestReader::read_head() {
  if (head_size_ == 0) skip_empty_lines();
  if (buffered() == 0 || (head_size_ == 0 && buffered() == 1 && buffer_[begin_] == '\r')) return false;
  const size_t before = begin_;
  parse();
  const size_t size = begin_ - before;  // whole lines
  head_size_ += size;
  head_checked_ -= std::min(size, head_checked_);
  const bool complete = parser_->is_header_done();
  if (head_size_ + (complete ? 0 : buffered()) > max_head_)
    throw Error(ErrorCode::kHeaderTooLarge,
                fmt::format("the headers are over the limit of {} bytes", max_head_));
  if (!complete) {
    check_line_ends();
    return false;
  }
  head_.keep_alive = parser_->keep_alive();
  head_.chunked = parser_->chunked();
  if (const auto length = parser_->content_length()) head_.content_length = *length;
  return true;
}

/// RFC 9112, 2.2: empty lines before a request line are to be ignored.
void RequestReader::skip_empty_lines() {
  while (buffered() >= 2 && buffer_[begin_] == '\r' && buffer_[begin_ + 1] == '\n') begin_ += 2;
}

/// RFC 9112, 2.2 lets a server end a line at a bare LF; this one never does, so that no proxy before it sees
/// other lines than it. The parser would wait for an empty line that ends in CR LF; the client would wait
/// too.
void RequestReader::check_line_ends() {
  for (; head_checked_ < buffered(); ++head_checked_) {
    const size_t at = begin_ + head_checked_;
    if (buffer_[at] == '\n' && (head_checked_ == 0 || buffer_[at - 1] != '\r'))
      throw Error(ErrorCode::kInvalidArgument, "the headers are no valid HTTP: a line ends without CR");
  }
}

std::string_view RequestReader::next_piece() {
  parser_->forget_piece();
  while (!parser_->is_done() && buffered() > 0 && parser_->piece().empty()) {
    // Beast asserts that, once it has seen the size of the last chunk, it is asked again with the whole of
    // that chunk's shortest form.
    if (waits_ && buffer_[begin_] == '0' && buffered() < kLastChunk) break;
    const size_t before = begin_;
    parse();
    waits_ = begin_ == before && !parser_->is_done();
    if (waits_) {
      // The size of a chunk, or trailers, that never end.
      if (buffered() > max_head_)
        throw Error(ErrorCode::kInvalidArgument, "the body is no valid HTTP: a chunk's header is too long");
      break;
    }
  }
  return view(parser_->piece());
}

bool RequestReader::done() const { return parser_->is_done(); }

/// Lets the parser take what it can.
void RequestReader::parse() {
  error_code error;
  const bool in_head = !parser_->is_header_done();
  begin_ += parser_->put({buffer_.data() + begin_, buffered()}, error);
  if (!error || error == http::error::need_more) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} no valid HTTP: {}", in_head ? "the headers are" : "the body is", error.message()));
}

}  // namespace d3::server
