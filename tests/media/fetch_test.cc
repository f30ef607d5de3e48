// Fetching against servers of our own on loopback, which only the tests' flag opens.
#include "media/fetch.h"

#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/loopback_server.h"

namespace d3::media {
namespace {

using test::LoopbackServer;
using testing::HasSubstr;
using testing::Not;

std::string ok(const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" +
         body;
}

std::string redirect(const std::string& to, int status = 302) {
  return "HTTP/1.1 " + std::to_string(status) + " Moved\r\nLocation: " + to + "\r\nContent-Length: 0\r\n\r\n";
}

FetchOptions open_loopback() {
  FetchOptions options;
  options.allow_loopback = true;
  return options;
}

std::string fetch(const MediaFetcher& fetcher, const std::string& url, size_t max_bytes = 1000) {
  MediaOptions options;
  options.max_image_bytes = max_bytes;
  const auto bytes = fetcher.fetch(url, MediaKind::kImage, options, "images[0]");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The message of the refusal, which must name the item.
std::string refusal(const MediaFetcher& fetcher, const std::string& url, size_t max_bytes = 1000) {
  try {
    fetch(fetcher, url, max_bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.field(), "images[0]");
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with("images[0]: ")) << message;
    return message.substr(11);
  }
  return "(fetched)";
}

TEST(FetchTest, GetsTheBody) {
  LoopbackServer server([](const std::string& target) { return ok("body of " + target); });
  const MediaFetcher fetcher(open_loopback());
  EXPECT_EQ(fetch(fetcher, server.url("/a.png")), "body of /a.png");
  EXPECT_EQ(fetch(fetcher, server.url("/a.png?b=c")), "body of /a.png?b=c");
}

TEST(FetchTest, GetsChunkedBodies) {
  LoopbackServer server([](const std::string&) {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfoo\r\n3\r\nbar\r\n0\r\n\r\n";
  });
  EXPECT_EQ(fetch(MediaFetcher(open_loopback()), server.url("/")), "foobar");
}

TEST(FetchTest, KeepsConnections) {
  LoopbackServer server([](const std::string&) { return ok("x", "Connection: keep-alive\r\n"); });
  const MediaFetcher fetcher(open_loopback());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(fetch(fetcher, server.url("/")), "x");
  EXPECT_EQ(server.accepted(), 1);
}

TEST(FetchTest, ManyThreadsFetchAtOnce) {
  LoopbackServer server([](const std::string& target) { return ok(target, "Connection: keep-alive\r\n"); });
  const MediaFetcher fetcher(open_loopback());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::string target = "/" + std::to_string(t);
      for (int i = 0; i < 10; ++i) EXPECT_EQ(fetch(fetcher, server.url(target)), target);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(FetchTest, LoopbackIsRefusedWithoutTheFlag) {
  LoopbackServer server([](const std::string&) { return ok("secret"); });
  const MediaFetcher fetcher{FetchOptions{}};
  const std::string port = server.url("/").substr(16);
  for (const std::string host :
       {"127.0.0.1", "127.1", "0x7f000001", "2130706433", "017700000001", "localhost", "LOCALHOST",
        "a.localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "0", "[::]"}) {
    const std::string reason = refusal(fetcher, "http://" + host + port);
    EXPECT_EQ(reason, "media are fetched from public addresses only") << host;
  }
  EXPECT_EQ(server.accepted(), 0);
}

TEST(FetchTest, PrivateAddressesAreRefusedEvenWithTheFlag) {
  const MediaFetcher fetcher(open_loopback());
  for (const char* url :
       {"http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://192.168.1.1/",
        "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://100.100.100.200/",
        "http://[::ffff:10.0.0.1]/", "http://[64:ff9b::a00:1]/", "http://224.0.0.1/"})
    EXPECT_EQ(refusal(fetcher, url), "media are fetched from public addresses only") << url;
}

TEST(FetchTest, NamesArePrivateByTheirAddress) {
  FetchOptions options;
  std::string answer;
  options.resolve = [&](const std::string&) { return std::vector<std::string>{answer}; };
  const MediaFetcher fetcher(options);
  for (const char* address : {"127.0.0.1", "10.1.2.3", "169.254.169.254", "172.20.0.1", "192.168.0.9",
                              "0.0.0.0", "::1", "fd12::1", "fe80::2", "::ffff:192.168.0.1", "2002:a00:1::"}) {
    answer = address;
    const std::string reason = refusal(fetcher, "http://images.example.com/a.png");
    EXPECT_EQ(reason, "media are fetched from public addresses only") << address;
    EXPECT_THAT(reason, Not(HasSubstr(address)));
  }
}

TEST(FetchTest, FollowsRedirects) {
  LoopbackServer server([](const std::string& target) {
    if (target == "/1") return redirect("/2", 301);
    if (target == "/2") return redirect("3", 303);
    if (target == "/3") return redirect("/end", 304);
    return ok("end");
  });
  const MediaFetcher fetcher(open_loopback());
  EXPECT_EQ(refusal(fetcher, server.url("/1")), "the server answered with status 304");
  LoopbackServer other([&](const std::string&) { return redirect(server.url("/end"), 307); });
  EXPECT_EQ(fetch(fetcher, other.url("/")), "end");
}

TEST(FetchTest, RedirectsAreCounted) {
  LoopbackServer server([](const std::string& target) {
    const int left = std::stoi(target.substr(1));
    return left == 0 ? ok("end") : redirect("/" + std::to_string(left - 1), 308);
  });
  const MediaFetcher fetcher(open_loopback());
  EXPECT_EQ(fetch(fetcher, server.url("/5")), "end");
  EXPECT_EQ(refusal(fetcher, server.url("/6")), "the URL is redirected more than 5 times");
}

TEST(FetchTest, RedirectsAreChecked) {
  std::string to;
  LoopbackServer server([&](const std::string&) { return redirect(to); });
  const MediaFetcher fetcher(open_loopback());
  for (const char* target : {"http://169.254.169.254/latest", "http://10.0.0.1:8080/", "//192.168.0.1/x",
                             "http://[fe80::1]/", "http://[::ffff:172.16.0.1]/"}) {
    to = target;
    EXPECT_EQ(refusal(fetcher, server.url("/")), "media are fetched from public addresses only") << to;
  }
  for (const char* target : {"file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1/",
                             "dict://127.0.0.1/", "data:image/png;base64,Zm9v"}) {
    to = target;
    EXPECT_EQ(refusal(fetcher, server.url("/")), "must be an http, https or data URL") << to;
  }
  to = "http://user:word@example.com/";
  EXPECT_THAT(refusal(fetcher, server.url("/")), HasSubstr("a user's name or password"));
}

// A name that leads to a public (here: open) address first and to a private one when it is asked again.
TEST(FetchTest, ANameThatChangesItsAddressIsCheckedAgain) {
  int lookups = 0;
  FetchOptions options = open_loopback();
  options.resolve = [&](const std::string&) {
    return std::vector<std::string>{++lookups == 1 ? "127.0.0.1" : "169.254.169.254"};
  };
  LoopbackServer server(
      [](const std::string& target) { return target == "/" ? redirect("/secret") : ok("secret"); });
  const MediaFetcher fetcher(options);
  EXPECT_EQ(refusal(fetcher, server.url("/", "rebind.example.com")),
            "media are fetched from public addresses only");
  EXPECT_EQ(lookups, 2);
  EXPECT_EQ(refusal(fetcher, server.url("/secret", "rebind.example.com")),
            "media are fetched from public addresses only");
  EXPECT_EQ(server.accepted(), 1);
}

TEST(FetchTest, APrivateAddressAmongPublicOnesIsNotConnectedTo) {
  FetchOptions options = open_loopback();
  options.resolve = [](const std::string&) { return std::vector<std::string>{"10.0.0.1", "127.0.0.1"}; };
  LoopbackServer server([](const std::string&) { return ok("from the open one"); });
  EXPECT_EQ(fetch(MediaFetcher(options), server.url("/", "mixed.example.com")), "from the open one");
}

TEST(FetchTest, SizesAreLimitedWhileTheyStream) {
  LoopbackServer server([](const std::string& target) {
    const std::string body(1001, 'x');
    if (target == "/length") return ok(body);
    if (target == "/lie") return "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + body;
    if (target == "/open") return "HTTP/1.1 200 OK\r\n\r\n" + body;
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + body + "\r\n0\r\n\r\n";
  });
  const MediaFetcher fetcher(open_loopback());
  const std::string expected = "the file is larger than the 1000 bytes allowed";
  EXPECT_EQ(refusal(fetcher, server.url("/length")), expected);
  EXPECT_EQ(refusal(fetcher, server.url("/open")), expected);
  EXPECT_EQ(refusal(fetcher, server.url("/chunked")), expected);
  EXPECT_EQ(fetch(fetcher, server.url("/lie")), "xxxxx");
  EXPECT_EQ(fetch(fetcher, server.url("/length"), 1001).size(), 1001U);
}

TEST(FetchTest, SlowServersAreLeft) {
  LoopbackServer server([](const std::string&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    return ok("late");
  });
  FetchOptions options = open_loopback();
  options.max_seconds = 0.1;
  EXPECT_THAT(refusal(MediaFetcher(options), server.url("/")), HasSubstr("takes longer"));
}

TEST(FetchTest, ReasonsAreSaid) {
  LoopbackServer server([](const std::string& target) {
    if (target == "/missing") return std::string("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    if (target == "/cut") return std::string("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    if (target == "/noise") return std::string("hello\r\n\r\n");
    if (target == "/nowhere") return std::string("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n");
    return std::string();
  });
  const MediaFetcher fetcher(open_loopback());
  EXPECT_EQ(refusal(fetcher, server.url("/missing")), "the server answered with status 404");
  EXPECT_EQ(refusal(fetcher, server.url("/cut")),
            "the server closed the connection before its answer was whole");
  EXPECT_EQ(refusal(fetcher, server.url("/none")),
            "the server closed the connection before its answer was whole");
  EXPECT_EQ(refusal(fetcher, server.url("/noise")), "the server's answer cannot be read");
  EXPECT_EQ(refusal(fetcher, server.url("/nowhere")), "the server redirects without saying where");
  EXPECT_EQ(refusal(fetcher, "http://127.0.0.1:1/"), "the URL's host does not answer");
}

TEST(FetchTest, OtherUrlsAreRefused) {
  const MediaFetcher fetcher(open_loopback());
  for (const char* url : {"", "a.png", "/etc/passwd", "file:///etc/passwd", "ftp://example.com/", "http:",
                          "http://", "javascript:1", "://x", "http://exa mple.com/", "gopher://example.com/"})
    EXPECT_EQ(refusal(fetcher, url), "must be an http, https or data URL") << url;
  EXPECT_THAT(refusal(fetcher, "http://example.com/" + std::string(9000, 'a')), HasSubstr("longer than"));
  EXPECT_THAT(refusal(fetcher, "http://me@example.com/"), HasSubstr("a user's name or password"));
}

TEST(FetchTest, HostsCanBeListed) {
  FetchOptions options = open_loopback();
  options.allowed_hosts = {"images.example.com", "*.cdn.example.com"};
  options.resolve = [](const std::string&) { return std::vector<std::string>{"127.0.0.1"}; };
  LoopbackServer server([&](const std::string& target) {
    return target == "/away" ? redirect("http://evil.example.org/") : ok("x");
  });
  const MediaFetcher fetcher(options);
  EXPECT_EQ(fetch(fetcher, server.url("/", "images.example.com")), "x");
  EXPECT_EQ(fetch(fetcher, server.url("/", "a.cdn.example.com")), "x");
  const std::string expected = "the URL's host is not among those that media are fetched from";
  EXPECT_EQ(refusal(fetcher, server.url("/", "cdn.example.com")), expected);
  EXPECT_EQ(refusal(fetcher, server.url("/", "127.0.0.1")), expected);
  EXPECT_EQ(refusal(fetcher, server.url("/away", "images.example.com")), expected);
}

TEST(FetchTest, RemoteMediaCanBeTurnedOff) {
  FetchOptions options;
  options.remote = false;
  const MediaFetcher fetcher(options);
  EXPECT_THAT(refusal(fetcher, "http://example.com/a.png"), HasSubstr("fetching is turned off"));
  EXPECT_EQ(fetch(fetcher, "data:image/png;base64,Zm9v"), "foo");
  EXPECT_THAT(refusal(fetcher, "data:video/mp4;base64,Zm9v"), HasSubstr("data:image/"));
}

}  // namespace
}  // namespace d3::media
