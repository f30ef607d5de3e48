// tests/support/loopback_server.h: a small HTTP server on a free port of 127.0.0.1, each connection on its
// own thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio.hpp>

namespace d3::test {

class LoopbackServer {
 public:
  /// Gives the whole answer (status line, headers, body) to a request for `target`; the connection is then
  /// closed unless the answer says `Connection: keep-alive`.
  using Handler = std::function<std::string(const std::string& target)>;

  /// What goes over the wire; `hold`: then nothing more, and the connection stays open until the client
  /// closes it.
  struct Reply {
    std::string bytes;
    bool hold = false;
  };
  /// The same for the whole head of a request: request line and headers, with the empty line.
  using HeadHandler = std::function<Reply(const std::string& head)>;

  explicit LoopbackServer(Handler handler)
      : LoopbackServer(HeadHandler([handler = std::move(handler)](const std::string& head) {
          return Reply{handler(target_of(head))};
        })) {}
  explicit LoopbackServer(HeadHandler handler)
      : handler_(std::move(handler)), acceptor_(context_, endpoint()) {
    thread_ = std::thread([this] { accept(); });
  }

  static std::string target_of(const std::string& head) {
    const size_t start = head.find(' ') + 1;
    return head.substr(start, head.find(' ', start) - start);
  }
  LoopbackServer(const LoopbackServer&) = delete;
  LoopbackServer& operator=(const LoopbackServer&) = delete;
  ~LoopbackServer() {
    stopping_ = true;
    {
      boost::asio::io_context context;
      boost::asio::ip::tcp::socket wake(context);
      boost::system::error_code ignored;
      wake.connect(acceptor_.local_endpoint(), ignored);  // ends accept()
    }
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      boost::system::error_code ignored;
      for (const auto& socket : sockets_) socket->shutdown(boost::asio::socket_base::shutdown_both, ignored);
    }
    for (std::thread& connection : connections_) connection.join();
  }

  std::string url(const std::string& target, const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(acceptor_.local_endpoint().port()) + target;
  }
  int accepted() const { return accepted_; }

 private:
  using Socket = boost::asio::ip::tcp::socket;

  static boost::asio::ip::tcp::endpoint endpoint() { return {boost::asio::ip::address_v4::loopback(), 0}; }

  void accept() {
    while (true) {
      auto socket = std::make_shared<Socket>(context_);
      boost::system::error_code error;
      acceptor_.accept(*socket, error);
      if (error || stopping_) return;
      ++accepted_;
      const std::lock_guard lock(mutex_);
      sockets_.push_back(socket);
      connections_.emplace_back([this, socket] { serve(*socket); });
    }
  }

  void serve(Socket& socket) {
    std::string input;
    boost::system::error_code error;
    while (true) {
      const size_t size =
          boost::asio::read_until(socket, boost::asio::dynamic_buffer(input), "\r\n\r\n", error);
      if (error) return;
      const Reply answer = handler_(input.substr(0, size));
      input.erase(0, size);
      boost::asio::write(socket, boost::asio::buffer(answer.bytes), error);
      if (answer.hold) boost::asio::read_until(socket, boost::asio::dynamic_buffer(input), "\r\n\r\n", error);
      if (error || answer.bytes.find("Connection: keep-alive") == std::string::npos) break;
    }
    socket.shutdown(boost::asio::socket_base::shutdown_both, error);
  }

  HeadHandler handler_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> accepted_ = 0;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Socket>> sockets_;
  std::vector<std::thread> connections_;
  std::thread thread_;
};

}  // namespace d3::test
