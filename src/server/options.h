// server/options.h: what a server can be told. Times are per phase of one request.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace d3::server {

enum class LogFormat { kText, kJson };

struct ServerOptions {
  std::string host = "127.0.0.1";    ///< an address or a name of this machine
  uint16_t port = 8000;              ///< 0: any free port
  std::string unix_path = {};        ///< a Unix socket to listen on instead of host and port
  std::string tls_certificate = {};  ///< PEM file; with tls_key: HTTPS instead of HTTP
  std::string tls_key = {};          ///< PEM file
  std::string version = {};          ///< of the program, for GET /version

  std::vector<std::string> api_keys = {};      ///< none: every client may ask
  std::vector<std::string> cors_origins = {};  ///< whose pages may ask from a browser; "*" for all
  bool playground = true;                      ///< whether GET / shows the playground
  LogFormat log_format = LogFormat::kText;     ///< of the line for each request

  size_t max_header = 16 << 10;             ///< bytes of request line and headers
  size_t max_body = 64 << 20;               ///< bytes of one body, as sent and as decoded
  size_t max_pending_body_bytes = 1 << 30;  ///< bytes of all bodies read and not yet parsed
  size_t max_connections = 1024;
  int workers = 0;  ///< threads that parse and tokenize; 0: as many as the CPUs, at most 4

  std::chrono::milliseconds idle_timeout{75'000};  ///< between requests; the connection is then closed
  std::chrono::milliseconds header_timeout{
      10'000};                                      ///< from a request's first byte to the end of its headers
  std::chrono::milliseconds body_timeout{15'000};   ///< without a byte of the body
  std::chrono::milliseconds write_timeout{30'000};  ///< to take the whole answer
  std::optional<std::chrono::milliseconds> request_timeout = {};  ///< from the whole body to the answer
  std::chrono::milliseconds drain_timeout{30'000};                ///< from the signal to the end
};

}  // namespace d3::server
