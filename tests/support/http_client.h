// tests/support/http_client.h: a plain blocking HTTP/1.1 client that lets a test send any bytes at any time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace d3::test {

struct HttpResponse {
  int status = 0;
  std::string body;
  std::string head;  ///< status line and headers as received

  /// A header's value, "" when there is none.
  std::string header(std::string_view name) const;
};

/// One connection. Every wait is bounded by a generous timeout, after which it throws std::runtime_error.
class HttpClient {
 public:
  explicit HttpClient(uint16_t port);
  ~HttpClient();
  HttpClient(HttpClient&& other) noexcept;
  HttpClient& operator=(HttpClient&&) = delete;

  void send(std::string_view bytes);
  /// The next response. Throws when the server closes first. `head_only`: a response to HEAD.
  HttpResponse receive(bool head_only = false);
  /// Whether the server closes without sending anything more.
  bool closed();
  /// Closes the sending side.
  void finish_sending();

  HttpResponse get(std::string_view path);
  HttpResponse post(std::string_view path, std::string_view body, std::string_view headers = {});

 private:
  std::string read_until(std::string_view mark);
  std::string read_bytes(size_t count);
  bool read_more();

  int fd_ = -1;
  std::string input_;
};

/// A POST with content-type application/json and content-length; `headers` end in \r\n.
std::string post_request(std::string_view path, std::string_view body, std::string_view headers = {});
std::string get_request(std::string_view path, std::string_view headers = {});

}  // namespace d3::test
