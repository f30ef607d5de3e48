#include "hub/response.h"

#include <gtest/gtest.h>

namespace d3::hub {
namespace {

TEST(HubResponseTest, CollectsHeaders) {
  Headers headers;
  for (const char* line : {"HTTP/1.1 100 Continue\r\n", "X-Old: 1\r\n", "\r\n", "HTTP/1.1 200 OK\r\n",
                           "ETag:  \"a\" \r\n", "Content-Length: 12\r\n", "no header\r\n", ": x\r\n"})
    add_header_line(headers, line);
  EXPECT_EQ(headers.size(), 2U);
  EXPECT_EQ(header(headers, "etag"), "\"a\"");
  EXPECT_EQ(byte_count(headers, "content-length"), 12U);
  EXPECT_EQ(byte_count(headers, "etag"), std::nullopt);
  EXPECT_EQ(header(headers, "x-old"), "");
}

TEST(HubResponseTest, ReadsContentRanges) {
  const auto range = parse_content_range("bytes 5-9/10");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 5U);
  EXPECT_EQ(range->last, 9U);
  EXPECT_EQ(range->total, 10U);
  for (const char* text : {"", "bytes", "bytes 5-9", "bytes 9-5/10", "bytes 5-10/10", "bytes */10",
                           "bytes 5-9/*", "items 5-9/10", "bytes 5/9-10", "bytes -9/10", "bytes 5-/10",
                           "bytes 5-9/10x", "bytes 5-99999999999999999999/10"})
    EXPECT_FALSE(parse_content_range(text)) << text;
}

TEST(HubResponseTest, ReadsRetryAfter) {
  using std::chrono::seconds;
  const auto now = std::chrono::system_clock::from_time_t(1'445'412'480);  // Wed, 21 Oct 2015 07:28:00 GMT
  EXPECT_EQ(parse_retry_after("120", now), seconds(120));
  EXPECT_EQ(parse_retry_after("0", now), seconds(0));
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:28:30 GMT", now), seconds(30));
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:27:00 GMT", now), seconds(0));
  EXPECT_EQ(parse_retry_after("18446744073709551615", now), seconds(1'000'000'000));
  EXPECT_EQ(parse_retry_after("soon", now), std::nullopt);
  EXPECT_EQ(parse_retry_after("", now), std::nullopt);
  EXPECT_EQ(parse_retry_after("-5", now), std::nullopt);
}

}  // namespace
}  // namespace d3::hub
