// Bytes in any portions give the same requests.
#include "server/request_reader.h"

#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace d3::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kMaxHead = 1000;

/// What was read: a line for each request, or the error that ended it.
std::vector<std::string> read_all(std::string_view bytes, size_t portion) {
  RequestReader reader(kMaxHead);
  std::vector<std::string> seen;
  std::string body;
  bool in_body = false;
  try {
    while (!bytes.empty()) {
      const std::span<char> room = reader.room(std::min(portion, bytes.size()));
      EXPECT_FALSE(room.empty());
      std::memcpy(room.data(), bytes.data(), room.size());
      reader.commit(room.size());
      bytes.remove_prefix(room.size());
      for (;;) {
        if (!in_body && !reader.read_head()) break;
        in_body = true;
        for (auto piece = reader.next_piece(); !piece.empty(); piece = reader.next_piece()) body += piece;
        if (!reader.done()) break;
        const RequestHead& head = reader.head();
        seen.push_back(head.method + ' ' + head.path + ' ' + std::to_string(head.version) +
                       (head.keep_alive ? " keep " : " close ") + head.content_type + '|' + body);
        body.clear();
        in_body = false;
        reader.next();
      }
    }
  } catch (const Error& error) {
    seen.emplace_back(error_code_name(error.code()));
  }
  return seen;
}

TEST(RequestReader, ReadsTheSameInAnyPortions) {
  const std::string bytes =
      "\r\n\r\nPOST /a?q HTTP/1.1\r\nHost: x\r\nContent-Type: t\r\ncontent-type: u\r\ncontent-length: "
      "5\r\n\r\nhello"
      "GET http://h/b HTTP/1.0\r\n\r\n"
      "POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
      "3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\ncontent-type: smuggled\r\n\r\n"
      "GET /d HTTP/1.1\r\nhost: x\r\n\r\n";
  for (size_t portion = 1; portion <= bytes.size(); ++portion)
    EXPECT_THAT(read_all(bytes, portion), ElementsAre("POST /a 11 keep t|hello", "GET /b 10 close |",
                                                      "POST /c 11 close |abc0123456789", "GET /d 11 keep |"))
        << portion;
}

// The last chunk is the first: less is there of it, when its size is known, than after any other.
TEST(RequestReader, ReadsAnEmptyBodyInChunksInAnyPortions) {
  const std::string head = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  for (const std::string body : {"0\r\n\r\n", "0\r\nt: s\r\n\r\n", "000;a=b\r\nt: s\r\n\r\n"})
    for (size_t portion = 1; portion <= head.size() + body.size(); ++portion)
      EXPECT_THAT(read_all(head + body + "GET / HTTP/1.1\r\n\r\n", portion),
                  ElementsAre("POST / 11 keep |", "GET / 11 keep |"))
          << body << portion;
}

TEST(RequestReader, RefusesWhatIsNoHttp) {
  for (const std::string bytes :
       {"GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "\x16\x03\x01 hello\r\n",
        "GET / HTTP/1.1\r\nhost : x\r\n\r\n", "GET / HTTP/1.1\r\n folded: x\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: +1\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n11111111111111111\r\n"})
    for (const size_t portion : {size_t{1}, bytes.size()})
      EXPECT_THAT(read_all(bytes, portion), ElementsAre("invalid_argument")) << bytes;
}

// No matter where, and as soon as one comes: nobody waits for the end of such a head.
TEST(RequestReader, TakesNoBareLineFeeds) {
  for (const std::string bytes :
       {"\n", "\r\n\nGET / HTTP/1.1\r\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\nhost: x\n\n",
        "GET / HTTP/1.1\r\nhost: x\n", "GET / HTTP/1.1\r\nhost: x\r\n\n",
        "GET / HTTP/1.1\r\nhost: x\na: b\r\n\r\n"})
    for (size_t portion = 1; portion <= bytes.size(); ++portion)
      EXPECT_THAT(read_all(bytes, portion), ElementsAre("invalid_argument")) << bytes << portion;
  EXPECT_THAT(read_all("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\n\n\n\n", 1),
              ElementsAre("POST / 11 keep |\n\n\n"));
}

// The limit holds for the whole head, however it comes.
TEST(RequestReader, BoundsTheHead) {
  std::string bytes = "GET / HTTP/1.1\r\nhost: x\r\n";
  while (bytes.size() <= kMaxHead) bytes += "x-more: 0123456789\r\n";
  for (const size_t portion : {size_t{1}, size_t{20}, size_t{25}, bytes.size()})
    EXPECT_THAT(read_all(bytes, portion), ElementsAre("header_too_large")) << portion;
  const std::string fits = bytes.substr(0, kMaxHead - 40) + "\r\n\r\n";
  for (const size_t portion : {size_t{1}, fits.size()})
    EXPECT_EQ(read_all(fits.substr(0, fits.rfind("x-more", fits.size() - 6)) + "\r\n", portion).size(), 1U);
  EXPECT_THAT(read_all("GET /" + std::string(2 * kMaxHead, 'x'), 100), ElementsAre("header_too_large"));
}

TEST(RequestReader, BoundsWhatSurroundsChunks) {
  const std::string start = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  EXPECT_THAT(read_all(start + "1;" + std::string(3 * kMaxHead, 'x'), 100), ElementsAre("invalid_argument"));
  EXPECT_THAT(read_all(start + "0\r\nt: " + std::string(3 * kMaxHead, 'x'), 100),
              ElementsAre("invalid_argument"));
}

TEST(RequestReader, HoldsOnlySoMuchAhead) {
  RequestReader reader(kMaxHead);
  size_t held = 0;
  for (auto room = reader.room(4096); !room.empty(); room = reader.room(4096)) {
    std::memset(room.data(), 'x', room.size());
    reader.commit(room.size());
    held += room.size();
  }
  EXPECT_GE(held, kMaxHead);
  EXPECT_LE(held, kMaxHead + (128U << 10U));
  reader.forget_input();
  EXPECT_FALSE(reader.room(4096).empty());
}

}  // namespace
}  // namespace d3::server
