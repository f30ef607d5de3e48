// Images and videos through the server, around an executor whose answers depend on every pixel.
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "support/test_questions.h"
#include "support/test_server.h"
#include "test_paths.h"

namespace d3::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string media_file(const std::string& name) {
  std::ifstream in(data_path("media/" + name), std::ios::binary);
  EXPECT_TRUE(in) << name;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string data_url(const std::string& type, const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return "data:" + type + ";base64," + text;
}

/// ask() with `"images":[..]` or the like before its other fields.
std::string ask_about(const std::string& field, const std::string& url, const std::string& state = "x") {
  return "{\"" + field + "\":[\"" + url + "\"]," + ask(state).substr(1);
}

TestServer::Options seeing() {
  TestServer::Options options;
  options.media = engine::MediaLoaderOptions();
  return options;
}

TEST(ServedMedia, AreEncodedOnceAndAnsweredEqually) {
  TestServer server(seeing());
  HttpClient client = server.ready_client();
  const std::string body = ask_about("images", data_url("image/png", media_file("gray.png")));
  const std::string first = answers(client.post("/v1/systemone", body));
  const std::string second = answers(client.post("/v1/systemone", body));
  EXPECT_EQ(first, second);
  EXPECT_THAT(server.executor().encoded(), ElementsAre(1U));  // both questions and both requests
  EXPECT_NE(answers(client.post("/v1/systemone",
                                ask_about("images", data_url("image/png", media_file("rgb.png"))))),
            first);
  EXPECT_NE(answers(client.post("/v1/systemone", ask("x"))), first);
  const std::string metrics = client.get("/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("\nd3_vision_cache_hits_total 1\n"));
  EXPECT_THAT(metrics, HasSubstr("\nd3_vision_cache_misses_total 2\n"));
}

TEST(ServedMedia, OfOneBatchDoNotMix) {
  TestServer server(seeing());
  HttpClient client = server.ready_client();
  const std::string clip = ask_about("videos", data_url("video/mp4", media_file("short.mp4")));
  const std::string other = ask_about("images", data_url("image/jpeg", media_file("gray.jpg")));
  const std::string clip_alone = answers(client.post("/v1/systemone", clip));
  const std::string other_alone = answers(client.post("/v1/systemone", other));
  server.executor().close();
  HttpClient first = server.client();
  HttpClient second = server.client();
  first.send(post_request("/v1/systemone", clip));
  second.send(post_request("/v1/systemone", other));
  server.executor().open();
  EXPECT_EQ(answers(first.receive()), clip_alone);
  EXPECT_EQ(answers(second.receive()), other_alone);
}

TEST(ServedMedia, NameTheItemAtFault) {
  TestServer server(seeing());
  HttpClient client = server.ready_client();
  const auto expect_refused = [&](const std::string& body, const std::string& field) {
    const HttpResponse response = client.post("/v1/systemone", body);
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_THAT(response.body, HasSubstr("\"param\":\"" + field + "\"")) << response.body;
    EXPECT_THAT(response.body, HasSubstr("\"message\":\"" + field + ": "));
  };
  const std::string png = media_file("rgb.png");
  expect_refused(ask_about("images", data_url("image/png", png.substr(0, png.size() / 2))), "images[0]");
  expect_refused(ask_about("images", "data:image/png;base64,!!!!"), "images[0]");
  expect_refused(ask_about("images", "http://localhost/x.png"), "images[0]");
  expect_refused(ask_about("videos", data_url("video/mp4", png)), "videos[0]");
  // Text goes on meanwhile and afterwards.
  EXPECT_EQ(client.post("/v1/systemone", ask("x")).status, 200);
}

TEST(ServedMedia, ComeInPartsOfABody) {
  TestServer server(seeing());
  HttpClient client = server.ready_client();
  const std::string png = media_file("rgb.png");
  const std::string json =
      "{\"assets\":{\"<photo>\":{\"type\":\"image\",\"part\":\"a\"}}," + ask("x").substr(1);
  const std::string body =
      "--b\r\ncontent-disposition: form-data; name=\"request\"\r\n\r\n" + json +
      "\r\n--b\r\ncontent-disposition: form-data; name=\"a\"; filename=\"p.png\"\r\n\r\n" + png +
      "\r\n--b--\r\n";
  client.send(
      "POST /v1/systemone HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\n"
      "content-length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string uploaded = answers(client.receive());
  EXPECT_EQ(uploaded, answers(client.post("/v1/systemone", ask_about("images", data_url("image/png", png)))));
}

TEST(ServedMedia, AreRefusedWithoutATower) {
  TestServer server;
  HttpClient client = server.ready_client();
  for (const std::string field : {"images", "videos"}) {
    const HttpResponse response = client.post("/v1/systemone", ask_about(field, "http://example.com/x"));
    EXPECT_EQ(response.status, 400);
    EXPECT_THAT(response.body, HasSubstr("\"param\":\"" + field + "\""));
  }
}

}  // namespace
}  // namespace d3::test
