#include "api/assets.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/systemone.h"
#include "base/error.h"

namespace d3::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Enough of a file to know its type; the media room reads the rest.
const std::string kPng = "\x89PNG\r\n\x1a\n____";
const std::string kJpeg = "\xff\xd8\xff_________";
const std::string kWebp = "RIFF____WEBP";
constexpr const char* kPngUrl = "data:image/png;base64,iVBORw0KGgpfX19f";
constexpr const char* kJpegUrl = "data:image/jpeg;base64,/9j/X19fX19fX19f";

ServedModel seeing() {
  ServedModel model;
  model.names = {"d3-nano"};
  model.takes_media = true;
  return model;
}

struct Upload {
  std::string name;
  std::string content;
};

decision::Request upload(const std::string& json, const std::vector<Upload>& parts,
                         const ServedModel& model = seeing()) {
  std::string body = "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" + json + "\r\n";
  for (const Upload& part : parts)
    body +=
        "--b\r\nContent-Disposition: form-data; name=\"" + part.name + "\"\r\n\r\n" + part.content + "\r\n";
  return parse_systemone(body + "--b--\r\n", model, "multipart/form-data; boundary=b");
}

/// A body whose state mentions nothing.
std::string with_assets(const std::string& assets) {
  return R"({"state":"s","questions":{"q":{"type":"noul"}},"assets":)" + assets + "}";
}

template <typename Parse>
void expect_refused(const Parse& parse, const std::string& field, const std::string& reason) {
  try {
    parse();
    ADD_FAILURE() << "accepted where this was expected: " << reason;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.field(), field) << reason;
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

void expect_upload_refused(const std::string& assets, const std::vector<Upload>& parts,
                           const std::string& field, const std::string& reason) {
  expect_refused([&] { upload(with_assets(assets), parts); }, field, reason);
}

void expect_json_refused(const std::string& assets, const std::string& field, const std::string& reason) {
  expect_refused([&] { parse_systemone(with_assets(assets), seeing()); }, field, reason);
}

decision::Medium file(std::string_view content) {
  const auto bytes = std::as_bytes(std::span(content));
  return {.file = {bytes.begin(), bytes.end()}};
}

TEST(Assets, BecomeImagesInOrderOfFirstMention) {
  const std::string json = R"({"model":"jev-latest","state":{"photo":"<image:2>","more":["see <image:1>"]},
    "questions":{"q":{"type":"choice","instructions":"<image:0>?","criteria":{"a":"<image:2>","b":null}}},
    "images":["https://host/first.png"],
    "assets":{"<image:3>":{"type":"image","part":"asset-0"},"<image:0>":{"type":"image","part":"asset-1"},
              "<image:1>":{"part":"asset-2"},"<image:2>":{"part":"asset-3"}}})";
  const decision::Request request =
      upload(json, {{"asset-0", kPng}, {"asset-1", kJpeg}, {"asset-2", kWebp}, {"asset-3", kPng}});
  EXPECT_THAT(request.images, ElementsAre(decision::Medium{.url = "https://host/first.png"}, file(kPng),
                                          file(kWebp), file(kJpeg), file(kPng)));
  EXPECT_EQ(request.state, R"({"photo": "<image:2>", "more": ["see <image:1>"]})");
  EXPECT_EQ(request.questions[0].instructions, "<image:0>?");
  EXPECT_EQ(request.model, "");
}

TEST(Assets, MayStandInJsonAsBase64) {
  const decision::Request request = parse_systemone(
      with_assets(R"({"a":{"type":"image","format":"png","data_base64":"iVBORw0KGgpfX19f","part":null},)"
                  R"("b":{"data_base64":"/9j/X19fX19fX19f"}})"),
      seeing());
  EXPECT_THAT(request.images,
              ElementsAre(decision::Medium{.url = kPngUrl}, decision::Medium{.url = kJpegUrl}));
  EXPECT_TRUE(parse_systemone(with_assets("null"), seeing()).images.empty());
  expect_json_refused(R"({"a":{"data_base64":"AAAAAAAAAAAAAAAA"}})", "assets.a.data_base64",
                      "PNG, JPEG or WebP");
  expect_json_refused(R"({"a":{"data_base64":"iVBORw0KGgpfX1--"}})", "assets.a.data_base64",
                      "PNG, JPEG or WebP");
  expect_json_refused(R"({"a":{"data_base64":""}})", "assets.a.data_base64", "PNG, JPEG or WebP");
  expect_json_refused(R"({"a":{"part":"asset-0"}})", "assets.a.part", "no part named `asset-0`");
  expect_json_refused(R"({"a":{"type":"image"}})", "assets.a", "needs part");
}

TEST(Assets, AreWellFormed) {
  expect_json_refused("{}", "assets", "1 to 64 assets, not 0");
  expect_json_refused("[]", "assets", "must be an object, not a list");
  expect_json_refused(R"({"":{"part":"x"}})", "assets", "must not be empty");
  expect_json_refused(R"({"a":7})", "assets.a", "must be an object, not a number");
  expect_json_refused(R"({"a":{"type":"video"}})", "assets.a.type", "must be image, not `video`");
  expect_json_refused(R"({"a":{"type":1}})", "assets.a.type", "must be a string");
  expect_json_refused(R"({"a":{"format":"gif"}})", "assets.a.format", "png, jpg, jpeg, webp");
  expect_json_refused(R"({"a":{"url":"x"}})", "assets.a.url", "unknown field");
  std::string many = "{";
  for (int i = 0; i < 65; ++i) many += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  expect_json_refused(many + "}", "assets", "1 to 64 assets, not 65");
}

TEST(Assets, PartsAndAssetsBelongTogether) {
  expect_upload_refused(R"({"a":{"part":"x"}})", {}, "assets.a.part", "no part named `x`");
  expect_upload_refused(R"({"a":{"part":"x"},"b":{"part":"x"}})", {{"x", kPng}}, "assets.b.part",
                        "part `x` belongs to another asset");
  expect_upload_refused(R"({"a":{"part":"x"}})", {{"x", kPng}, {"y", kPng}}, "assets",
                        "no asset names the part `y`");
  expect_upload_refused("null", {{"y", kPng}}, "assets", "no asset names the part `y`");
  expect_upload_refused(R"({"a":{"part":"request"}})", {}, "assets.a.part", "no part named `request`");
  expect_upload_refused(R"({"a":{"part":"x"}})", {{"x", "GIF89a______"}}, "assets.a", "PNG, JPEG or WebP");
  expect_upload_refused(R"({"a":{"part":"x"}})", {{"x", ""}}, "assets.a", "PNG, JPEG or WebP");
  expect_upload_refused(R"({"a":{"part":"x"}})", {{"x", kPng + std::string(8'000'000, 'x')}}, "assets.a",
                        "at most 8000000 bytes, not 8000012");
  expect_refused(
      [] {
        parse_systemone("--b\r\nContent-Disposition: form-data; name=x\r\n\r\n{}\r\n--b--", seeing(),
                        "multipart/form-data; boundary=b");
      },
      "request", "no part of this name");
}

TEST(Assets, AFormWithoutAssetsIsItsJson) {
  EXPECT_EQ(upload(R"({"state":"s","questions":{"q":{"type":"noul"}}})", {}).state, "s");
  expect_refused([] { upload("{", {}); }, "", "invalid JSON");
  expect_refused([] { upload("[]", {}); }, "", "must be a JSON object");
}

TEST(Assets, FollowTheRulesOfImages) {
  const std::string json =
      R"({"state":"<|image_pad|>","questions":{"q":{"type":"noul"}},"assets":{"a":{"part":"x"}}})";
  expect_refused([&] { upload(json, {{"x", kPng}}); }, "questions.q", "literal <|image_pad|>");
  ServedModel blind = seeing();
  blind.takes_media = false;
  try {
    upload(with_assets(R"({"a":{"part":"x"}})"), {{"x", kPng}}, blind);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(error.field(), "images");
  }
}

TEST(Assets, TheSdksDefaultModelIsTheServedOne) {
  const std::string json = R"({"state":"s","questions":{"q":{"type":"noul"}},"model":"jev-latest"})";
  EXPECT_EQ(parse_systemone(json, seeing()).model, "");
  ServedModel named = seeing();
  named.names = {"other", "jev-latest"};
  EXPECT_EQ(parse_systemone(json, named).model, "jev-latest");
}

}  // namespace
}  // namespace d3::api
