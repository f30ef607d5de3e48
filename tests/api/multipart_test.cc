#include "api/multipart.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kType = "multipart/form-data; boundary=b";

std::string part(const std::string& name, const std::string& content) {
  return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + content + "\r\n";
}

std::vector<std::string> contents(const std::string& type, const std::string& body) {
  std::vector<std::string> all;
  for (const Part& part : parse_multipart(type, body))
    all.push_back(part.name + "=" + std::string(part.content));
  return all;
}

void expect_refused(const std::string& type, const std::string& body, const std::string& reason) {
  try {
    parse_multipart(type, body);
    ADD_FAILURE() << "accepted: " << type << '\n' << body;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.field(), "");
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

TEST(Multipart, IsKnownByItsContentType) {
  EXPECT_TRUE(is_multipart("multipart/form-data; boundary=x"));
  EXPECT_TRUE(is_multipart(" Multipart/Form-Data ;boundary=x"));
  EXPECT_FALSE(is_multipart("multipart/mixed; boundary=x"));
  EXPECT_FALSE(is_multipart("application/json"));
  EXPECT_FALSE(is_multipart(""));
}

TEST(Multipart, ReadsTheBodyOfTypesafeSdk) {
  const std::string boundary = "0123456789abcdef0123456789abcdef";
  const std::string body =
      "--" + boundary +
      "\r\nContent-Disposition: form-data; name=\"request\"\r\nContent-Type: "
      "application/json\r\n\r\n{}\r\n--" +
      boundary +
      "\r\nContent-Disposition: form-data; name=\"asset-0\"; filename=\"asset-0\"\r\nContent-Type: "
      "image/png\r\n\r\n" +
      std::string("\x89PNG\0\r\n\r\n--", 11) + "\r\n--" + boundary + "--\r\n";
  const std::vector<Part> parts = parse_multipart("multipart/form-data; boundary=" + boundary, body);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].name, "request");
  EXPECT_EQ(parts[0].content_type, "application/json");
  EXPECT_EQ(parts[0].content, "{}");
  EXPECT_EQ(parts[1].name, "asset-0");
  EXPECT_EQ(parts[1].content_type, "image/png");
  EXPECT_EQ(parts[1].content, std::string("\x89PNG\0\r\n\r\n--", 11));
}

TEST(Multipart, FollowsRfc2046) {
  EXPECT_THAT(contents(kType, part("x", "") + "--b--"), ElementsAre("x="));
  EXPECT_THAT(contents(kType, "preamble\r\n" + part("x", "1") + "--b--\r\nepilogue --b"), ElementsAre("x=1"));
  EXPECT_THAT(contents(kType, "--b \t\r\ncontent-disposition:form-data;name=x\r\n\r\n1\r\n--b-- "),
              ElementsAre("x=1"));
  // Only a whole line is a boundary.
  EXPECT_THAT(
      contents(kType, part("x", "x--b\r\n\r\n--bc\r\n--b-\r\n-b--b--") + part("y", "2") + "--b--\r\n"),
      ElementsAre("x=x--b\r\n\r\n--bc\r\n--b-\r\n-b--b--", "y=2"));
  EXPECT_THAT(contents("multipart/form-data; charset=utf-8; BOUNDARY=\"b\"", part("x", "1") + "--b--"),
              ElementsAre("x=1"));
  EXPECT_THAT(
      contents("multipart/form-data; boundary=\"a b\"",
               "--a b\r\nContent-Disposition: form-data; filename=\"a;name=no\"; name=\"q\\\"\\\\;\"\r\n"
               "X-Other: 1\r\nContent-Transfer-Encoding: binary\r\n\r\n1\r\n--a b--"),
      ElementsAre("q\"\\;=1"));
  EXPECT_THAT(contents(kType, "--b--\r\n"), ElementsAre());
}

TEST(Multipart, RefusesBrokenBodies) {
  expect_refused("multipart/form-data", "", "names no boundary");
  expect_refused("multipart/form-data; boundary=", "", "boundary is not 1 to 70");
  expect_refused("multipart/form-data; boundary=\"open", "", "names no boundary");
  expect_refused("multipart/form-data; boundary=" + std::string(71, 'b'), "", "boundary is not 1 to 70");
  expect_refused("multipart/form-data; boundary=a{b", "", "boundary is not 1 to 70");
  expect_refused(kType, "", "not in the body");
  expect_refused(kType, "--c\r\n\r\n--c--", "not in the body");
  expect_refused(kType, part("x", "1"), "part 0 is not closed");
  expect_refused(kType, part("x", "1") + "--b-", "part 0 is not closed");
  expect_refused(kType, "--b\r\n--b--", "headers of part 0 do not end");
  expect_refused(kType, "--b\r\n\r\n1\r\n--b--", "part 0 has no name");
  expect_refused(kType, part("", "1") + "--b--", "part 0 has no name");
  expect_refused(kType, part("x", "1") + part("x", "2") + "--b--", "two parts are named `x`");
  expect_refused(kType, "--b\r\nno colon\r\n\r\n1\r\n--b--", "part 0 has a header line without");
  expect_refused(kType, "--b\r\nContent-Disposition: attachment; name=x\r\n\r\n1\r\n--b--",
                 "is not form-data");
  expect_refused(kType,
                 "--b\r\nContent-Disposition: form-data; name=x\r\nContent-Transfer-Encoding: base64\r\n\r\n1"
                 "\r\n--b--",
                 "content-transfer-encoding `base64`");
}

TEST(Multipart, HasLimits) {
  std::string body;
  for (size_t i = 0; i < kMaxParts; ++i) body += part(std::to_string(i), "");
  EXPECT_EQ(parse_multipart(kType, body + "--b--").size(), kMaxParts);
  expect_refused(kType, body + part("one", "") + "--b--", "more than 65 parts");
  const std::string header(1000, 'h');
  std::string headers = "--b\r\n";
  for (int i = 0; i < 9; ++i) headers.append(header).append(":1\r\n");
  expect_refused(kType, headers + "\r\n1\r\n--b--", "headers of part 0 are longer than 8192");
  expect_refused(kType, "--b\r\n" + std::string(10'000, 'h') + ":1\r\n\r\n1\r\n--b--",
                 "headers of part 0 do not end");
}

}  // namespace
}  // namespace d3::api
