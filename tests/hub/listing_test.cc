#include "hub/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

std::string listing_text(const std::string& siblings) {
  return std::string(R"({"sha":")") + kCommit + R"(","siblings":[)" + siblings + "]}";
}

std::string message_of(const auto& call, ErrorCode code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "(accepted)";
}

Listing listing_with(std::initializer_list<const char*> paths) {
  Listing listing{.commit = kCommit, .files = {}};
  for (const char* path : paths) listing.files.push_back({.path = path, .etag = "e", .bytes = 1});
  return listing;
}

TEST(ListingTest, ReadsFiles) {
  const Listing listing = parse_listing(listing_text(
      R"({"rfilename":"config.json","size":12,"blobId":"abc"},)"
      R"({"rfilename":"a/b.bin","size":5,"blobId":"p","lfs":{"sha256":"def","size":9000000000,"pointerSize":5}},)"
      R"({"rfilename":"bare"})"));
  EXPECT_EQ(listing.commit, kCommit);
  ASSERT_EQ(listing.files.size(), 3U);
  EXPECT_EQ(listing.files[0].etag, "abc");
  EXPECT_EQ(listing.files[0].bytes, 12U);
  EXPECT_EQ(listing.find("a/b.bin")->etag, "def");
  EXPECT_EQ(listing.find("a/b.bin")->bytes, 9'000'000'000U);
  EXPECT_EQ(listing.files[2].etag, "");
  EXPECT_EQ(listing.files[2].bytes, std::nullopt);
  EXPECT_EQ(listing.find("none"), nullptr);
}

TEST(ListingTest, RefusesWhatIsNoListing) {
  for (const std::string& text :
       {std::string(), std::string("<html>"), std::string("[]"), std::string(R"({"siblings":[]})"),
        std::string(R"({"sha":"main","siblings":[]})"), std::string(R"({"sha":")") + kCommit + R"("})",
        listing_text("1"), listing_text(R"({"rfilename":"../x"})"), listing_text(R"({"rfilename":"/x"})"),
        listing_text(R"({"rfilename":"a/../../x"})"), listing_text(R"({"rfilename":""})")})
    EXPECT_THAT(message_of([&] { parse_listing(text); }, ErrorCode::kUnavailable),
                HasSubstr("list of files cannot be used"))
        << text;
}

TEST(ListingTest, KeepsEtagsInsideTheirDirectory) {
  const Listing listing = parse_listing(listing_text(
      R"({"rfilename":"a","blobId":"../x"},{"rfilename":"b","blobId":".."},{"rfilename":"c","blobId":"a/b"})"));
  for (const RemoteFile& file : listing.files) EXPECT_EQ(file.etag, "");
  EXPECT_EQ(etag_from_header("\"abc\""), "abc");
  EXPECT_EQ(etag_from_header("W/\"abc\""), "abc");
  EXPECT_EQ(etag_from_header("abc"), "abc");
  EXPECT_EQ(etag_from_header("\"../abc\""), "");
  EXPECT_EQ(etag_from_header("\""), "");
}

TEST(ListingTest, ChoosesWhatACheckpointNeeds) {
  const Listing listing = listing_with({"README.md", "config.json", "decision_config.json", "tokenizer.json",
                                        "tokenizer_config.json", "readout.safetensors", "model.safetensors",
                                        "pytorch_model.bin", "merges.txt", "onnx/model.onnx"});
  EXPECT_THAT(leading_files(listing, "o/m"), ElementsAre());
  EXPECT_THAT(
      needed_files(listing, "o/m", {}, {}),
      UnorderedElementsAre("config.json", "decision_config.json", "tokenizer.json", "tokenizer_config.json",
                           "readout.safetensors", "model.safetensors", "merges.txt"));
}

TEST(ListingTest, FollowsIndexAndManifest) {
  const Listing listing =
      listing_with({"config.json", "decision_config.json", "tokenizer.json", "tokenizer_config.json",
                    "readout.safetensors", "model.safetensors.index.json", "a.safetensors", "b.safetensors",
                    "c.safetensors", "MODEL_MANIFEST.json", "LICENSE"});
  EXPECT_THAT(leading_files(listing, "o/m"),
              ElementsAre("MODEL_MANIFEST.json", "model.safetensors.index.json"));
  const std::string index = R"({"weight_map":{"x":"a.safetensors","y":"b.safetensors","z":"a.safetensors"}})";
  const std::string manifest = R"({"schema":"d3-package-manifest/1","files_sha256":{"LICENSE":")" +
                               std::string(64, 'a') + R"("},"files_bytes":{"LICENSE":1}})";
  EXPECT_THAT(
      needed_files(listing, "o/m", manifest, index),
      UnorderedElementsAre("config.json", "decision_config.json", "tokenizer.json", "tokenizer_config.json",
                           "readout.safetensors", "model.safetensors.index.json", "a.safetensors",
                           "b.safetensors", "MODEL_MANIFEST.json", "LICENSE"));
  const auto refused = [&](const std::string& bad) {
    return message_of([&] { needed_files(listing, "o/m", {}, bad); }, ErrorCode::kBadCheckpoint);
  };
  EXPECT_THAT(refused(R"({"weight_map":{"x":"d.safetensors"}})"), HasSubstr("d.safetensors is missing"));
  EXPECT_THAT(refused(R"({"weight_map":{"x":"../a"}})"), HasSubstr("weight_map"));
  EXPECT_THAT(refused("{}"), HasSubstr("weight_map"));
}

TEST(ListingTest, SaysWhatIsNoDecisionModel) {
  EXPECT_EQ(
      message_of([] { leading_files(listing_with({"config.json"}), "o/m"); }, ErrorCode::kBadCheckpoint),
      "o/m holds no checkpoint of a decision model: decision_config.json is missing");
}

}  // namespace
}  // namespace d3::hub
