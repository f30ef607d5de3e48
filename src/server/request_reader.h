// server/request_reader.h: bytes -> HTTP/1.1 requests, one after the other. No sockets, no clock.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "server/http.h"

namespace d3::server {

/// Reads HTTP/1.1 and 1.0 (RFC 9112) as the bytes come: a head, then its body in pieces, then the next
/// request. What a client sends ahead waits in a buffer of bounded size.
///
///   if (reader.read_head()) .. reader.head() ..
///   for (auto piece = reader.next_piece(); !piece.empty(); piece = reader.next_piece()) .. piece ..
///   if (reader.done()) reader.next();
class RequestReader {
 public:
  /// max_head: the most bytes of a request line with its headers.
  explicit RequestReader(size_t max_head);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  /// Where the next bytes may be put, at most about `wanted`; empty when the buffer is full. Ends the life of
  /// pieces. Stays valid until the next call of room.
  std::span<char> room(size_t wanted);
  /// That many bytes have been put there.
  void commit(size_t size);
  /// Bytes that have come and were not read.
  size_t buffered() const { return end_ - begin_; }
  /// Drops them: what is read from now on only makes room.
  void forget_input() { begin_ = end_; }

  /// Goes on with the request's head; true when it is complete. Throws Error(kInvalidArgument) when this is
  /// no HTTP, and Error(kHeaderTooLarge); nothing more can then be read.
  bool read_head();
  /// What is known of the head, also before it is complete; request_id is left to the caller.
  RequestHead& head() { return head_; }
  const RequestHead& head() const { return head_; }

  /// The next bytes of the body without their framing; empty when more must come, or when done(). Valid until
  /// the next call of any but done(). Throws Error(kInvalidArgument) when the framing is broken.
  std::string_view next_piece();
  /// Whether the request has been read to its end.
  bool done() const;
  /// Forgets the request that is done and begins the next.
  void next();

 private:
  class Parser;

  void parse();
  void skip_empty_lines();
  void check_line_ends();

  const size_t max_head_;
  std::vector<char> buffer_;  // [begin_, end_) has come and was not read
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t head_size_ = 0;     // bytes of the head that were read
  size_t head_checked_ = 0;  // bytes from begin_ whose line ends were checked while the head is incomplete
  bool waits_ = false;       // the parser took nothing of the body that is buffered
  RequestHead head_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace d3::server
