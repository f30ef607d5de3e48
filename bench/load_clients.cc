#include "bench/load_clients.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "checkpoint/file.h"

namespace d3::bench {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

using checkpoint::FileDescriptor;

int opened(int fd) {
  if (fd < 0) fail("cannot open");
  return fd;
}

class Client {
 public:
  Client(uint16_t port, const std::string& request)
      : fd_(opened(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))), request_(request) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      fail("connect");
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  int fd() const { return fd_.get(); }

  size_t asked() const { return asked_; }

  void ask() {
    ++asked_;
    start_ = Clock::now();
    for (std::string_view rest = request_; !rest.empty();) {
      const ssize_t sent = ::send(fd_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0) fail("send");
      rest.remove_prefix(static_cast<size_t>(sent));
    }
  }

  /// Reads what has come, or with `flags` 0 waits for some. True when an answer is complete.
  bool receive(int flags = MSG_DONTWAIT) {
    std::array<char, 8192> bytes;
    const ssize_t got = ::recv(fd_.get(), bytes.data(), bytes.size(), flags);
    if (got == 0) throw std::runtime_error("the server closed a connection");
    if (got < 0) {
      if (errno == EAGAIN) return false;
      fail("recv");
    }
    input_.append(bytes.data(), static_cast<size_t>(got));
    const size_t head = input_.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    return input_.size() >= head + 4 + content_length(std::string_view(input_).substr(0, head));
  }

  const std::string& answer() const { return input_; }
  /// The status and the time of the answer that is complete.
  std::pair<int, double> take() {
    const int status = std::stoi(input_.substr(9, 3));
    input_.clear();
    return {status, std::chrono::duration<double, std::milli>(Clock::now() - start_).count()};
  }

 private:
  static size_t content_length(std::string_view head) {
    constexpr std::string_view kName = "content-length: ";
    const auto at = std::search(head.begin(), head.end(), kName.begin(), kName.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
    });
    if (at == head.end()) throw std::runtime_error("an answer without content-length");
    return std::stoul(std::string(at + kName.size(), head.end()));
  }

  FileDescriptor fd_;
  const std::string& request_;
  std::string input_;
  size_t asked_ = 0;
  Clock::time_point start_;
};

}  // namespace

double LoadResult::percentile(double share) const {
  if (milliseconds.empty()) return 0;
  return milliseconds[static_cast<size_t>(share * static_cast<double>(milliseconds.size() - 1))];
}

std::string ask_once(uint16_t port, const std::string& request) {
  Client client(port, request);
  client.ask();
  while (!client.receive(0)) continue;
  return client.answer();
}

LoadResult run_load(uint16_t port, const std::string& request, const LoadPlan& plan) {
  const FileDescriptor epoll(opened(::epoll_create1(EPOLL_CLOEXEC)));
  std::vector<std::unique_ptr<Client>> clients;
  for (size_t i = 0; i < plan.clients; ++i) {
    clients.push_back(std::make_unique<Client>(port, request));
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, clients.back()->fd(), &event) != 0) fail("epoll_ctl");
  }
  LoadResult result;
  const auto start = Clock::now();
  const auto end = start + plan.duration;
  for (auto& client : clients) client->ask();
  size_t waiting = plan.clients;
  std::array<epoll_event, 64> events;
  while (waiting > 0) {
    const int ready = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      Client& client = *clients[events[static_cast<size_t>(i)].data.u64];
      if (!client.receive()) continue;
      const auto [status, time] = client.take();
      ++result.answers;
      if (status != 200) ++result.failed;
      result.milliseconds.push_back(time);
      if (plan.rounds ? client.asked() < *plan.rounds : Clock::now() < end)
        client.ask();
      else
        --waiting;
    }
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::sort(result.milliseconds.begin(), result.milliseconds.end());
  return result;
}

}  // namespace d3::bench
