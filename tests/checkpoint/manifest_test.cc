#include "checkpoint/manifest.h"

#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "checkpoint/refusal.h"
#include "checkpoint/sha256.h"
#include "support/checkpoint_writer.h"
#include "support/json_build.h"
#include "support/temporary_directory.h"

namespace d3::checkpoint {
namespace {

using test::number;
using test::object;
using test::set_path;
using test::string;

Sha256::Digest digest_of(std::string_view text) {
  return Sha256::of(std::as_bytes(std::span(text.data(), text.size())));
}

// The examples of FIPS 180-2, appendix B, and the empty message.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(to_hex(digest_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(digest_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 million;
  const std::string piece(1000, 'a');
  for (int i = 0; i < 1000; ++i) million.update(std::as_bytes(std::span(piece.data(), piece.size())));
  EXPECT_EQ(to_hex(million.finish()), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, ReadsFilesOfSeveralPieces) {
  const test::TemporaryDirectory directory;
  const std::string bytes(1'000'000, 'a');
  test::write_file(directory.path() / "a", bytes);
  EXPECT_EQ(to_hex(sha256_of_file(directory.path() / "a")),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// A manifest of the files `a` ("alpha") and `b` ("bravo").
json::Value two_files() {
  return object({{"schema", string("d3-package-manifest/1")},
                 {"model_name", string("m")},
                 {"repo_id", string("r/m")},
                 {"files_sha256", object({{"a", string(to_hex(digest_of("alpha")))},
                                          {"b", string(to_hex(digest_of("bravo")))}})},
                 {"files_bytes", object({{"a", number(5)}, {"b", number(5)}})}});
}

class ManifestFiles : public ::testing::Test {
 protected:
  ManifestFiles() {
    test::write_file(root() / "a", "alpha");
    test::write_file(root() / "b", "bravo");
  }
  const std::filesystem::path& root() const { return directory_.path(); }
  std::string path(const std::string& name) const { return (root() / name).string(); }
  void verify(Verify how = Verify::kFast) const {
    test::write_file(root() / "MODEL_MANIFEST.json", test::dump_json(two_files(), 1));
    verify_files(read_manifest(root()).value(), root(), how);
  }

 private:
  test::TemporaryDirectory directory_;
};

TEST_F(ManifestFiles, AreVerified) {
  EXPECT_NO_THROW(verify(Verify::kFast));
  EXPECT_NO_THROW(verify(Verify::kFull));
  EXPECT_EQ(read_manifest(root())->model_name, "m");
  EXPECT_EQ(read_manifest(root())->repo_id, "r/m");
}

TEST_F(ManifestFiles, AreNoManifestWithoutOne) { EXPECT_FALSE(read_manifest(root()).has_value()); }

TEST_F(ManifestFiles, MustHaveTheirSizes) {
  test::write_file(root() / "b", "bravo!");
  for (const Verify how : {Verify::kFast, Verify::kFull})
    expect_refused({path("b"), {path("b") + ": has 6 bytes; MODEL_MANIFEST.json says 5"}},
                   [&] { verify(how); });
  EXPECT_NO_THROW(verify(Verify::kNone));
}

TEST_F(ManifestFiles, MustHaveTheirDigests) {
  test::write_file(root() / "b", "brave");
  for (const Verify how : {Verify::kFast, Verify::kFull})
    expect_refused({path("b"),
                    {path("b") + ": has SHA-256 " + to_hex(digest_of("brave")),
                     "MODEL_MANIFEST.json says " + to_hex(digest_of("bravo"))}},
                   [&] { verify(how); });
  EXPECT_NO_THROW(verify(Verify::kNone));
}

TEST_F(ManifestFiles, AreReportedInTheManifestsOrder) {
  test::write_file(root() / "a", "ALPHA");
  test::write_file(root() / "b", "BRAVO");
  expect_refused({path("a"), {"has SHA-256"}}, [&] { verify(); });
}

TEST_F(ManifestFiles, MustBeThere) {
  std::filesystem::remove(root() / "a");
  expect_refused({path("a"), {path("a") + ": is listed in MODEL_MANIFEST.json, but"}}, [&] { verify(); });
  EXPECT_NO_THROW(verify(Verify::kNone));
}

TEST_F(ManifestFiles, LargeOnesAreHashedByFullVerificationAlone) {
  const uint64_t bytes = kFastHashBytes + 1;
  std::filesystem::resize_file(root() / "b", bytes);  // sparse
  Manifest manifest = parse_manifest(test::dump_json(two_files(), 1), "m");
  manifest.files[1].bytes = bytes;
  EXPECT_NO_THROW(verify_files(manifest, root(), Verify::kFast));
  expect_refused({path("b"), {"has SHA-256"}}, [&] { verify_files(manifest, root(), Verify::kFull); });
  manifest.files[1].bytes = bytes + 1;
  expect_refused({path("b"), {"has 67108865 bytes; MODEL_MANIFEST.json says 67108866"}},
                 [&] { verify_files(manifest, root(), Verify::kFast); });
  std::filesystem::resize_file(root() / "b", kFastHashBytes);
  manifest.files[1].bytes = kFastHashBytes;
  expect_refused({path("b"), {"has SHA-256"}}, [&] { verify_files(manifest, root(), Verify::kFast); });
}

TEST(Manifest, RefusesAnotherForm) {
  const std::string digest = to_hex(digest_of("alpha"));
  const auto refused = [](const std::string& key, json::Value value, const Refusal& refusal) {
    SCOPED_TRACE(key + " = " + test::dump_json(value, 0));
    json::Value manifest = two_files();
    set_path(manifest, key, std::move(value));
    expect_refused(refusal, [&] { parse_manifest(test::dump_json(manifest, 1), "dir/MODEL_MANIFEST.json"); });
  };
  refused("schema", string("d3-package-manifest/2"), {"schema", {"dir/MODEL_MANIFEST.json: schema is"}});
  refused("model_name", number(1), {"model_name", {"is 1; expected a string"}});
  refused("files_sha256", string(""), {"files_sha256", {"expected an object"}});
  refused("files_bytes", json::Value(), {"files_bytes", {"is missing"}});
  refused("files_bytes", object({}), {"files_bytes", {"lists 0 files, files_sha256 2"}});
  refused("files_bytes", object({{"a", number(5)}, {"c", number(5)}}),
          {"files_bytes \"b\"", {"is missing or not a file's size"}});
  refused("files_bytes.a", number(-5), {"files_bytes \"a\"", {"is missing or not a file's size"}});
  refused("files_bytes.a", string("5"), {"files_bytes \"a\"", {"is missing or not a file's size"}});
  refused("files_sha256.a", string("12"),
          {"files_sha256 \"a\"", {"is \"12\"; expected 64 hexadecimal digits"}});
  refused("files_sha256.a", string(std::string(64, 'g')),
          {"files_sha256 \"a\"", {"expected 64 hexadecimal digits"}});
}

TEST(Manifest, RefusesNamesThatLeaveTheDirectory) {
  for (const std::string name : {"../a", "/etc/passwd", "sub/../../a", "", "..", "sub/", "a//b/"}) {
    SCOPED_TRACE(name);
    json::Value manifest = two_files();
    for (const char* list : {"files_sha256", "files_bytes"}) {
      json::Object& members = test::at_path(manifest, list).as_object();
      members[0].key = name;
    }
    expect_refused({"files_sha256 \"" + name + "\"", {"is not a file inside the checkpoint's directory"}},
                   [&] { parse_manifest(test::dump_json(manifest, 1), "dir/MODEL_MANIFEST.json"); });
  }
}

TEST(Manifest, AllowsNamesBelowTheDirectory) {
  json::Value manifest = two_files();
  for (const char* list : {"files_sha256", "files_bytes"})
    test::at_path(manifest, list).as_object()[0].key = "assets/a..b";
  EXPECT_EQ(parse_manifest(test::dump_json(manifest, 1), "m").files[0].name, "assets/a..b");
}

TEST(Manifest, RefusesMoreFilesThanItReads) {
  json::Object digests, sizes;
  for (int i = 0; i < 5000; ++i) {
    digests.push_back({std::to_string(i), string(std::string(64, '0'))});
    sizes.push_back({std::to_string(i), number(1)});
  }
  json::Value manifest = two_files();
  set_path(manifest, "files_sha256", json::Value(std::move(digests)));
  set_path(manifest, "files_bytes", json::Value(std::move(sizes)));
  expect_refused({"files_sha256", {"lists 5000 files; at most 4096 are read"}},
                 [&] { parse_manifest(test::dump_json(manifest, 1), "m"); });
}

}  // namespace
}  // namespace d3::checkpoint
