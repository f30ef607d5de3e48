// server/stream.h: a client's byte stream: a socket, with TLS or without.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/system/error_code.hpp>

namespace d3::server {

/// One read and one write may be under way at a time. Every operation calls its handler once, later, on the
/// I/O thread. Handlers keep alive whom they belong to; close() makes all of them end.
class Stream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Done = std::function<void(boost::system::error_code, size_t)>;

  virtual ~Stream() = default;

  /// Makes the stream usable: the TLS handshake, if there is one.
  virtual void open(Done done) = 0;
  virtual void read_some(boost::asio::mutable_buffer room, Done done) = 0;
  /// Writes all of both.
  virtual void write(const std::array<boost::asio::const_buffer, 2>& bytes, Done done) = 0;
  /// Says that nothing more will be sent. True: what the client still sends is to be read and thrown away
  /// until it closes, and `done` is not called. False: reading ends, and `done` is called when the client
  /// knows.
  virtual bool finish(Done done) = 0;
  virtual void close() = 0;
};

/// Certificate and key of a server, for all its connections.
class TlsContext {
 public:
  /// PEM files; the certificate with those that vouch for it. Throws Error(kInvalidArgument) that names the
  /// file at fault.
  TlsContext(const std::string& certificate_file, const std::string& key_file);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend std::unique_ptr<Stream> make_stream(Stream::Socket socket, TlsContext* tls);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// tls: nullptr for a plain stream; else it must outlive the stream. TLS 1.2 and 1.3.
std::unique_ptr<Stream> make_stream(Stream::Socket socket, TlsContext* tls);

}  // namespace d3::server
