#include "server/stream.h"

#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/error.h"

namespace d3::server {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using boost::system::error_code;

class PlainStream : public Stream {
 public:
  explicit PlainStream(Socket socket) : socket_(std::move(socket)) {}

  void open(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}, 0); });
  }
  void read_some(asio::mutable_buffer room, Done done) override {
    socket_.async_read_some(room, std::move(done));
  }
  void write(const std::array<asio::const_buffer, 2>& bytes, Done done) override {
    asio::async_write(socket_, bytes, std::move(done));
  }
  bool finish(Done) override {
    error_code error;
    socket_.shutdown(Socket::shutdown_send, error);
    return !error;
  }
  void close() override {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  Socket socket_;
};

class TlsStream : public Stream {
 public:
  TlsStream(Socket socket, ssl::context& context) : stream_(std::move(socket), context) {}

  void open(Done done) override {
    stream_.async_handshake(ssl::stream_base::server,
                            [done = std::move(done)](error_code error) { done(error, 0); });
  }
  void read_some(asio::mutable_buffer room, Done done) override {
    stream_.async_read_some(room, std::move(done));
  }
  void write(const std::array<asio::const_buffer, 2>& bytes, Done done) override {
    asio::async_write(stream_, bytes, std::move(done));
  }
  bool finish(Done done) override {
    error_code ignored;
    stream_.lowest_layer().cancel(ignored);  // the read: TLS's farewell does its own
    stream_.async_shutdown([done = std::move(done)](error_code error) { done(error, 0); });
    return false;
  }
  void close() override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  ssl::stream<Socket> stream_;
};

/// Of the protocols a client offers, HTTP/1.1.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  static constexpr std::string_view kProtocols = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(kProtocols.data()),
                            kProtocols.size(), offered, offered_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

void check(const error_code& error, const char* what, const std::string& file) {
  if (error)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: no usable {}: {}", file, what, error.message()),
                file);
}

}  // namespace

struct TlsContext::Impl {
  ssl::context context{ssl::context::tls_server};
};

TlsContext::TlsContext(const std::string& certificate_file, const std::string& key_file)
    : impl_(std::make_unique<Impl>()) {
  ssl::context& context = impl_->context;
  context.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 | ssl::context::no_sslv3 |
                      ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  SSL_CTX_set_alpn_select_cb(context.native_handle(), choose_protocol, nullptr);
  error_code error;
  context.use_certificate_chain_file(certificate_file, error);
  check(error, "certificate", certificate_file);
  context.use_private_key_file(key_file, ssl::context::pem, error);
  check(error, "key for this certificate", key_file);
}

TlsContext::~TlsContext() = default;

std::unique_ptr<Stream> make_stream(Stream::Socket socket, TlsContext* tls) {
  if (tls == nullptr) return std::make_unique<PlainStream>(std::move(socket));
  return std::make_unique<TlsStream>(std::move(socket), tls->impl_->context);
}

}  // namespace d3::server
