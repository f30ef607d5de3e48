#include "support/http_client.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace d3::test {
namespace {

constexpr timeval kTimeout{.tv_sec = 300, .tv_usec = 0};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

std::string HttpResponse::header(std::string_view name) const {
  const std::string mark = "\r\n" + lower(name) + ": ";
  const size_t at = lower(head).find(mark);
  if (at == std::string::npos) return "";
  const size_t start = at + mark.size();
  return head.substr(start, head.find("\r\n", start) - start);
}

HttpClient::HttpClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(fd_);
    throw std::runtime_error(std::string("connect: ") + std::strerror(error));
  }
}

HttpClient::~HttpClient() {
  if (fd_ >= 0) ::close(fd_);
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), input_(std::move(other.input_)) {}

void HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) throw std::runtime_error(std::string("send: ") + std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

HttpResponse HttpClient::receive(bool head_only) {
  HttpResponse response;
  response.head = read_until("\r\n\r\n");
  if (!response.head.starts_with("HTTP/1.")) throw std::runtime_error("no HTTP: " + response.head);
  response.status = std::stoi(response.head.substr(9, 3));
  const std::string length = response.header("content-length");
  if (!head_only && !length.empty()) response.body = read_bytes(std::stoul(length));
  return response;
}

bool HttpClient::closed() { return input_.empty() && !read_more(); }

void HttpClient::finish_sending() { ::shutdown(fd_, SHUT_WR); }

HttpResponse HttpClient::get(std::string_view path) {
  send(get_request(path));
  return receive();
}

HttpResponse HttpClient::post(std::string_view path, std::string_view body, std::string_view headers) {
  send(post_request(path, body, headers));
  return receive();
}

std::string HttpClient::read_until(std::string_view mark) {
  size_t at = input_.find(mark);
  for (; at == std::string::npos; at = input_.find(mark))
    if (!read_more()) throw std::runtime_error("closed by the server after: " + input_);
  return read_bytes(at + mark.size());
}

std::string HttpClient::read_bytes(size_t count) {
  while (input_.size() < count)
    if (!read_more()) throw std::runtime_error("closed by the server after: " + input_);
  std::string bytes = input_.substr(0, count);
  input_.erase(0, count);
  return bytes;
}

bool HttpClient::read_more() {
  char bytes[16384];
  const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
  if (got < 0 && errno != ECONNRESET) throw std::runtime_error(std::string("recv: ") + std::strerror(errno));
  if (got <= 0) return false;
  input_.append(bytes, static_cast<size_t>(got));
  return true;
}

std::string post_request(std::string_view path, std::string_view body, std::string_view headers) {
  std::string request("POST ");
  request.append(path)
      .append(" HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n")
      .append(headers);
  request.append("content-length: ").append(std::to_string(body.size())).append("\r\n\r\n").append(body);
  return request;
}

std::string get_request(std::string_view path, std::string_view headers) {
  std::string request("GET ");
  request.append(path).append(" HTTP/1.1\r\nhost: test\r\n").append(headers).append("\r\n");
  return request;
}

}  // namespace d3::test
