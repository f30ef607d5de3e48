#include "server/content_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/compress.h"

namespace d3::server {
namespace {

using test::zstd;

std::string decoded(std::string_view coding, std::string_view body, size_t limit = 1 << 20) {
  size_t told = 0;
  std::string bytes = decode(coding, body, limit, [&](size_t more) { told += more; });
  EXPECT_GE(told, bytes.size());
  return bytes;
}

ErrorCode error_of(std::string_view coding, std::string_view body, size_t limit = 1 << 20) {
  try {
    decoded(coding, body, limit);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "accepted";
  return ErrorCode::kInternal;
}

TEST(ContentCoding, KnowsItsNames) {
  for (const char* name : {"", "identity", " Identity "}) EXPECT_TRUE(is_plain(name)) << name;
  for (const char* name : {"gzip", "x-gzip", "GZip", "zstd"}) EXPECT_TRUE(is_known_coding(name)) << name;
  for (const char* name : {"br", "deflate", "gzip, gzip", "identity"})
    EXPECT_FALSE(is_known_coding(name)) << name;
}

TEST(ContentCoding, DecodesWhatWasEncoded) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919) + ' ';
  EXPECT_EQ(decoded("gzip", gzip(text)), text);
  EXPECT_EQ(decoded("zstd", zstd(text)), text);
  EXPECT_EQ(decoded("x-gzip", gzip(text) + gzip("more")), text + "more");
  EXPECT_EQ(decoded("zstd", zstd(text) + zstd("more")), text + "more");
  EXPECT_EQ(decoded("gzip", gzip("")), "");
  EXPECT_EQ(decoded("zstd", zstd("")), "");
}

TEST(ContentCoding, StopsAtTheLimit) {
  const std::string zeros(100'000, '\0');
  for (const std::string coding : {"gzip", "zstd"}) {
    const std::string body = coding == "gzip" ? gzip(zeros) : zstd(zeros);
    EXPECT_LT(body.size(), 1000U);
    EXPECT_EQ(decoded(coding, body, zeros.size()), zeros);
    EXPECT_EQ(error_of(coding, body, zeros.size() - 1), ErrorCode::kPayloadTooLarge);
    EXPECT_EQ(error_of(coding, body + body, zeros.size()), ErrorCode::kPayloadTooLarge);
  }
}

TEST(ContentCoding, RefusesDamagedAndCutOffBodies) {
  const std::string text(1000, 'x');
  for (const std::string coding : {"gzip", "zstd"}) {
    const std::string body = coding == "gzip" ? gzip(text) : zstd(text);
    for (size_t size = 0; size < body.size(); ++size)
      EXPECT_EQ(error_of(coding, body.substr(0, size)), ErrorCode::kInvalidArgument) << coding << size;
    EXPECT_EQ(error_of(coding, body + "x"), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error_of(coding, "{}"), ErrorCode::kInvalidArgument);
  }
  std::string damaged = gzip(text);
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // of the checksum
  EXPECT_EQ(error_of("gzip", damaged), ErrorCode::kInvalidArgument);
}

TEST(ContentCoding, GrowsOnlyWhereItMay) {
  const std::string body = gzip(std::string(1 << 20, 'x'));
  size_t told = 0;
  EXPECT_THROW(decode("gzip", body, 1 << 24,
                      [&](size_t more) {
                        told += more;
                        if (told > 100'000) throw Error(ErrorCode::kOverloaded, "no room");
                      }),
               Error);
}

}  // namespace
}  // namespace d3::server
