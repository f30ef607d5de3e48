// What a server refuses to hold: too much, too long, too many, too late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_server.h"

namespace d3::server {
namespace {

using std::chrono::milliseconds;
using test::get_request;
using test::HttpClient;
using test::HttpResponse;
using test::post_request;
using test::TestServer;
using testing::HasSubstr;

constexpr const char* kPath = "/v1/systemone";
constexpr const char* kStart =
    "POST /v1/systemone HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n";

std::string ask(const std::string& state) {
  return R"({"state":")" + state + R"(","questions":{"q":{"type":"noul","instructions":"Sure?"}}})";
}

HttpResponse send_and_receive(const TestServer& server, const std::string& bytes) {
  HttpClient client = server.client();
  client.send(bytes);
  HttpResponse response = client.receive();
  EXPECT_TRUE(client.closed()) << response.head;
  return response;
}

TEST(Limits, RefusesALongBodyBeforeReadingIt) {
  TestServer server({.server = {.max_body = 1000}});
  HttpClient client = server.ready_client();
  EXPECT_EQ(client.post(kPath, ask(std::string(800, 'x'))).status, 200);
  // Announced: answered though not a byte of it has come.
  const HttpResponse huge =
      send_and_receive(server, std::string(kStart) + "content-length: 99999999999\r\n\r\n");
  EXPECT_EQ(huge.status, 413);
  EXPECT_THAT(huge.body, HasSubstr("1000"));
  // Slightly over: read, refused, and the connection goes on.
  EXPECT_EQ(client.post(kPath, ask(std::string(1001, 'x'))).status, 413);
  EXPECT_EQ(client.post(kPath, ask("x")).status, 200);
}

TEST(Limits, RefusesAChunkedBodyAtTheLimit) {
  TestServer server({.server = {.max_body = 1000}});
  server.ready_client();
  const std::string chunk = "100\r\n" + std::string(256, 'x') + "\r\n";
  EXPECT_EQ(send_and_receive(server, std::string(kStart) + "transfer-encoding: chunked\r\n\r\n" + chunk +
                                         chunk + chunk + chunk)
                .status,
            413);
}

TEST(Limits, SendsTheRefusalThoughTheClientGoesOnSending) {
  TestServer server({.server = {.max_body = 1000}});
  server.ready_client();
  const std::string body(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) {
    HttpClient client = server.client();
    client.send(std::string(kStart) + "content-length: 100000000\r\n\r\n");
    EXPECT_NO_THROW(client.send(body.substr(0, 200'000)));
    EXPECT_EQ(client.receive().status, 413);
  }
}

TEST(Limits, RefusesLongHeaders) {
  TestServer server({.server = {.max_header = 2000}});
  HttpClient client = server.ready_client();
  client.send(get_request("/version", "x-long: " + std::string(1500, 'x') + "\r\n"));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(
      send_and_receive(server, get_request("/version", "x-long: " + std::string(2000, 'x') + "\r\n")).status,
      431);
  EXPECT_EQ(send_and_receive(server, "GET /" + std::string(100'000, 'x')).status, 431);
}

TEST(Limits, RefusesWhatIsNoHttp) {
  TestServer server;
  server.ready_client();
  for (const std::string bytes :
       {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello over TLS\r\n\r\n", "GET\r\n\r\n",
        "GET / HTTP/3.0\r\n\r\n", "POST /v1/systemone HTTP/1.1\r\nhost: t\r\ncontent-length: -1\r\n\r\n",
        "POST /v1/systemone HTTP/1.1\r\nhost: t\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
        "POST /v1/systemone HTTP/1.1\r\nhost: t\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        "GET /version HTTP/1.1\r\nhost : t\r\n\r\n"}) {
    const HttpResponse response = send_and_receive(server, bytes);
    EXPECT_EQ(response.status, 400) << bytes;
    EXPECT_THAT(response.body, HasSubstr("BadRequestError"));
  }
  EXPECT_EQ(send_and_receive(server, std::string(kStart) + "transfer-encoding: chunked\r\n\r\nzz\r\n").status,
            400);
  HttpClient client = server.client();
  client.send("GET /version HTTP/1.1\r\n\r\n");  // no host
  EXPECT_EQ(client.receive().status, 400);
  client.send(std::string(kStart) + "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(client.receive().status, 400);
  client.send(std::string(kStart) + "expect: a miracle\r\ncontent-length: 2\r\n\r\n");
  EXPECT_EQ(client.receive().status, 400);
}

TEST(Limits, DoesNotWaitForStalledClients) {
  TestServer server({.server = {.idle_timeout = milliseconds(200),
                                .header_timeout = milliseconds(100),
                                .body_timeout = milliseconds(100)}});
  server.ready_client();
  EXPECT_TRUE(server.client().closed());  // never sends anything
  EXPECT_EQ(send_and_receive(server, "GET /version HTT").status, 408);
  const HttpResponse body =
      send_and_receive(server, std::string(kStart) + "content-length: 100\r\n\r\n{\"state\":");
  EXPECT_EQ(body.status, 408);
  EXPECT_THAT(body.body, HasSubstr("RequestTimeoutError"));
  EXPECT_EQ(send_and_receive(server, std::string(kStart) + "transfer-encoding: chunked\r\n\r\n5\r\n{").status,
            408);
}

TEST(Limits, DoesNotWaitForBodiesThatDrip) {
  TestServer server({.server = {.body_timeout = milliseconds(200)}});
  server.ready_client();
  HttpClient client = server.client();
  client.send(std::string(kStart) + "content-length: 1000000\r\n\r\n");
  int status = 0;
  std::thread reader([&] {
    try {
      status = client.receive().status;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  });
  try {
    for (int i = 0; i < 1000; ++i) {  // never silent for long, yet far too slow
      client.send("x");
      std::this_thread::sleep_for(milliseconds(10));
    }
  } catch (const std::exception&) {  // closed by the server
  }
  reader.join();
  EXPECT_EQ(status, 408);
}

TEST(Limits, RefusesBodiesBeyondTheSharedBudget) {
  TestServer server({.server = {.max_pending_body_bytes = 100'000}});
  HttpClient client = server.ready_client();
  HttpClient holder = server.client();
  holder.send(std::string(kStart) + "content-length: 70000\r\n\r\n" + std::string(60'000, ' '));
  // The I/O thread comes by the holder's socket at least once for each of these, and soon has its bytes.
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.post(kPath, ask("x")).status, 200);
  const HttpResponse refused = client.post(kPath, std::string(40'000, ' ') + ask("x"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(client.post(kPath, ask("x")).status, 200);
  holder.send(std::string(10'000, ' '));
  EXPECT_EQ(holder.receive().status, 400);
  EXPECT_EQ(client.post(kPath, std::string(40'000, ' ') + ask("x")).status, 200);  // given back
}

TEST(Limits, RefusesWhenTheQueueIsFull) {
  TestServer server({.engine = {.max_batch_tokens = 4096, .max_queued_requests = 2}});
  HttpClient client = server.ready_client();
  server.executor().close();
  HttpClient first = server.client();
  first.send(post_request(kPath, ask("1")));
  server.executor().wait_for_runs(1);
  HttpClient second = server.client();
  second.send(post_request(kPath, ask("2")));
  HttpResponse refused;
  do {  // until the second has come through its preparation
    HttpClient third = server.client();
    third.send(post_request(kPath, ask("3")));
    std::this_thread::sleep_for(milliseconds(5));
    refused = client.post(kPath, ask("4"));
  } while (refused.status == 200);
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.body, HasSubstr("RateLimitError"));
  EXPECT_GE(std::stoi(refused.header("retry-after")), 1);
  server.executor().open();
  EXPECT_EQ(first.receive().status, 200);
}

TEST(Limits, RefusesConnectionsBeyondTheLimit) {
  TestServer server({.server = {.max_connections = 3}});
  std::vector<HttpClient> clients;
  clients.push_back(server.ready_client());
  for (int i = 0; i < 2; ++i) {
    clients.push_back(server.client());
    EXPECT_EQ(clients.back().get("/health").status, 200);
  }
  HttpClient refused = server.client();
  EXPECT_EQ(refused.receive().status, 503);
  EXPECT_TRUE(refused.closed());
  EXPECT_EQ(clients[1].get("/health").status, 200);
}

TEST(Limits, EndsARequestAtItsDeadline) {
  TestServer server({.server = {.request_timeout = milliseconds(50)}});
  HttpClient client = server.ready_client();
  server.executor().close();
  EXPECT_EQ(client.post(kPath, ask("1")).status, 504);
  server.executor().open();
}

TEST(Limits, HidesWhatWentWrongInside) {
  TestServer server;
  HttpClient client = server.ready_client();
  server.executor().fail_on('~');
  const HttpResponse failed =
      client.post(kPath, R"({"state":"x","questions":{"q":{"type":"noul","instructions":"~"}}})");
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.body, testing::Not(HasSubstr("poison")));
  EXPECT_EQ(client.post(kPath, ask("x")).status, 200);
}

}  // namespace
}  // namespace d3::server
