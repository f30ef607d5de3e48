// The playground's files over HTTP: where they are, what headers they have, how they are compressed and kept.
#include "server/playground.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "checkpoint/sha256.h"
#include "server/content_coding.h"
#include "support/test_server.h"

namespace d3::server {
namespace {

using test::HttpClient;
using test::HttpResponse;
using test::TestServer;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string header(const Reply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers)
    if (key == name) return value;
  return {};
}

TEST(Playground, WhoTakesGzip) {
  for (const char* yes : {"gzip", "br, gzip", "GZIP;q=0.5", "deflate , gzip ; q=1.0", "gzip;q=0.001"})
    EXPECT_TRUE(takes_gzip(yes)) << yes;
  for (const char* no : {"", "br", "gzip;q=0", "gzip; q=0.000", "xgzip", "*", ","})
    EXPECT_FALSE(takes_gzip(no)) << no;
}

TEST(Playground, WhichHeaderNamesAnEtag) {
  for (const char* yes : {"\"a\"", "\"b\", \"a\"", "W/\"a\"", "*", " \"b\",W/\"a\" "})
    EXPECT_TRUE(names_etag(yes, "\"a\"")) << yes;
  for (const char* no : {"", "a", "\"b\"", "\"A\"", "\"a", "W/*"})
    EXPECT_FALSE(names_etag(no, "\"a\"")) << no;
}

TEST(Playground, EveryFileHasItsTypeAndTwoForms) {
  const Playground playground;
  EXPECT_THAT(playground.paths(), AllOf(Contains("/"), Contains("/playground/app.js")));
  size_t weight = 0;
  for (const std::string_view path : playground.paths()) {
    RequestHead head;
    head.method = "GET";
    head.path = path;
    const Reply plain = playground.serve(head);
    EXPECT_EQ(plain.status, 200);
    EXPECT_EQ(header(plain, "content-encoding"), "");
    EXPECT_EQ(header(plain, "x-content-type-options"), "nosniff");
    EXPECT_THAT(header(plain, "content-security-policy"), Not(HasSubstr("unsafe")));
    weight += plain.body.size();

    head.accept_encoding = "gzip";
    const Reply gzip = playground.serve(head);
    if (header(gzip, "content-encoding") == "gzip") {
      EXPECT_LT(gzip.body.size(), plain.body.size());
      EXPECT_EQ(decode("gzip", gzip.body, plain.body.size(), [](size_t) {}), plain.body);
      EXPECT_NE(header(gzip, "etag"), header(plain, "etag"));
    }
    head.if_none_match = header(gzip, "etag");
    const Reply kept = playground.serve(head);
    EXPECT_EQ(kept.status, 304);
    EXPECT_EQ(kept.body, "");
    EXPECT_EQ(header(kept, "etag"), header(gzip, "etag"));
    EXPECT_EQ(header(kept, "content-encoding"), "");
  }
  EXPECT_LE(weight, 150'000U);  // what the page may weigh, before it is compressed
}

TEST(Playground, IsServedBesideTheApi) {
  TestServer::Options options;
  options.server.api_keys = {"secret"};  // the page itself asks for the key
  TestServer server(std::move(options));
  HttpClient client = server.ready_client();
  const HttpResponse page = client.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.header("content-security-policy"),
              AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self';")));
  EXPECT_THAT(page.body,
              AllOf(HasSubstr("playground/app.js"), HasSubstr("<style>"), Not(HasSubstr("style.css"))));
  const auto style = page.body.substr(page.body.find("<style>") + 7,
                                      page.body.find("</style>") - page.body.find("<style>") - 7);
  std::string hash(44, ' ');
  const auto digest = checkpoint::Sha256::of(std::as_bytes(std::span(style)));
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(hash.data()), digest.data(), digest.size());
  EXPECT_THAT(page.header("content-security-policy"), HasSubstr("style-src 'sha256-" + hash + "';"));
  EXPECT_EQ(client.get("/playground/app.js").header("content-type"), "text/javascript; charset=utf-8");

  client.send("GET / HTTP/1.1\r\nhost: test\r\nif-none-match: " + page.header("etag") + "\r\n\r\n");
  const HttpResponse kept = client.receive(true);
  EXPECT_EQ(kept.status, 304);
  EXPECT_EQ(kept.header("content-length"), "");
  client.send("HEAD / HTTP/1.1\r\nhost: test\r\n\r\n");
  EXPECT_EQ(client.receive(true).header("content-length"), std::to_string(page.body.size()));

  EXPECT_EQ(client.get("/playground/none.js").status, 404);
  EXPECT_EQ(client.get("/playground/../routes.h").status, 404);
  EXPECT_EQ(client.get("/index.html").status, 404);
  const HttpResponse posted = client.post("/", "{}");
  EXPECT_EQ(posted.status, 405);
  EXPECT_EQ(posted.header("allow"), "GET, HEAD");
}

TEST(Playground, CanBeLeftOut) {
  TestServer::Options options;
  options.server.playground = false;
  TestServer server(std::move(options));
  HttpClient client = server.ready_client();
  EXPECT_EQ(client.get("/").status, 404);
  EXPECT_EQ(client.get("/playground/app.js").status, 404);
  EXPECT_EQ(client.get("/health").status, 200);
}

}  // namespace
}  // namespace d3::server
