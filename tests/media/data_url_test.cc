#include "media/data_url.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::media {
namespace {

std::string decode(std::string_view url, std::string_view type = "image", size_t max_bytes = 100) {
  const auto bytes = decode_data_url(url, type, max_bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The message of the refusal; empty when there is none.
std::string refusal(std::string_view url, std::string_view type = "image", size_t max_bytes = 100) {
  try {
    decode(url, type, max_bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return {};
}

TEST(DataUrlTest, DecodesEveryLength) {
  EXPECT_EQ(decode("data:image/png;base64,Zg=="), "f");
  EXPECT_EQ(decode("data:image/png;base64,Zm8="), "fo");
  EXPECT_EQ(decode("data:image/png;base64,Zm9v"), "foo");
  EXPECT_EQ(decode("data:image/png;base64,Zm9vYg=="), "foob");
  EXPECT_EQ(decode("data:image/png;base64,Zm9vYmE="), "fooba");
  EXPECT_EQ(decode("data:image/png;base64,Zm9vYmFy"), "foobar");
  EXPECT_EQ(decode("data:image/png;base64,+/+/"), "\xFB\xFF\xBF");
  EXPECT_EQ(decode("data:image/png;base64,AAAA"), std::string(3, '\0'));
}

TEST(DataUrlTest, AllBytesComeBack) {
  std::string text = "data:video/mp4;base64,";
  const char* alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  text += alphabet;
  const std::string decoded = decode(text, "video");
  ASSERT_EQ(decoded.size(), 48U);
  unsigned bits = 0;
  for (int i = 0; i < 64; ++i) {  // the digits' values, one after another
    bits = 0;
    for (int bit = 0; bit < 6; ++bit) {
      const int at = i * 6 + bit;
      bits = bits << 1U |
             (static_cast<unsigned char>(decoded[static_cast<size_t>(at / 8)]) >> (7 - at % 8) & 1U);
    }
    EXPECT_EQ(bits, static_cast<unsigned>(i));
  }
}

TEST(DataUrlTest, TakesTypesAsTheyAreWritten) {
  EXPECT_EQ(decode("DATA:Image/PNG;Base64,Zm9v"), "foo");
  EXPECT_EQ(decode("data:image/svg+xml;charset=utf-8;base64,Zm9v"), "foo");
  EXPECT_EQ(decode("data:video/x-matroska;base64,Zm9v", "video"), "foo");
}

TEST(DataUrlTest, RefusesEverythingElse) {
  for (const char* url : {"",
                          "data:",
                          "data:,",
                          "data:image/png,Zm9v",
                          "data:image/png;base64",
                          "data:image/png;base64,",
                          "data:;base64,Zm9v",
                          "data:image;base64,Zm9v",
                          "data:image/;base64,Zm9v",
                          "data:text/plain;base64,Zm9v",
                          "data:video/mp4;base64,Zm9v",
                          "data:image/p ng;base64,Zm9v",
                          "data:image/png;x;base64,Zm9v",
                          "data:image/png;x=;base64,Zm9v",
                          "data:image/png; base64,Zm9v",
                          "data:image/png;base64;x=y,Zm9v",
                          "data:image/png;base64, Zm9v",
                          "data:image/png;base64,Zm9",
                          "data:image/png;base64,Zm9vY",
                          "data:image/png;base64,Zm9v\n",
                          "data:image/png;base64,Zm9vZg",
                          "data:image/png;base64,Zg=",
                          "data:image/png;base64,Z===",
                          "data:image/png;base64,====",
                          "data:image/png;base64,Zg==Zm9v",
                          "data:image/png;base64,Zm=v",
                          "data:image/png;base64,Zm9-",
                          "data:image/png;base64,Zm9_",
                          "data:image/png;base64,Zm9%",
                          "data:image/png;base64,Zh==",
                          "data:image/png;base64,Zm9=",
                          "http://example.com/a,b;base64,Zm9v"})
    EXPECT_NE(refusal(url), "") << url;
}

TEST(DataUrlTest, RefusesMoreThanTheLimit) {
  EXPECT_EQ(refusal("data:image/png;base64,Zm9vYmFy", "image", 6), "");
  EXPECT_EQ(refusal("data:image/png;base64,Zm9vYmFy", "image", 5),
            "the data URL's 6 bytes are more than the 5 allowed");
  EXPECT_EQ(refusal("data:image/png;base64,Zm9vYg==", "image", 4), "");
}

}  // namespace
}  // namespace d3::media
