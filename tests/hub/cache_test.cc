#include "hub/cache.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "hub/digest.h"
#include "hub/file_lock.h"
#include "support/temporary_directory.h"

namespace d3::hub {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kOld(40, 'a');
const std::string kNew(40, 'b');

class HubCacheTest : public testing::Test {
 protected:
  const fs::path& cache() const { return directory_.path(); }

  void add(const std::string& repo, const std::string& commit, const std::string& path,
           const std::string& etag) {
    const ModelCache model(cache(), repo);
    fs::create_directories(model.directory() / "blobs");
    std::ofstream(model.blob(etag)) << etag;
    model.link(commit, path, etag);
  }

  void add_whole(const std::string& repo, const std::string& commit, const std::string& suffix) {
    for (const char* file : {"config.json", "decision_config.json", "tokenizer.json", "tokenizer_config.json",
                             "readout.safetensors"})
      add(repo, commit, file, "same");
    add(repo, commit, "model.safetensors", "weights-" + suffix);
  }

  bool has_blob(const std::string& repo, const std::string& etag) const {
    return fs::exists(ModelCache(cache(), repo).blob(etag));
  }

 private:
  test::TemporaryDirectory directory_;
};

TEST_F(HubCacheTest, HasThePythonClientsLayout) {
  const ModelCache model(cache(), "org/name");
  EXPECT_EQ(model.directory(), cache() / "models--org--name");
  EXPECT_EQ(model.lock("e"), cache() / ".locks/models--org--name/e.lock");
  add("org/name", kNew, "sub/a.json", "e1");
  const fs::path link = cache() / "models--org--name/snapshots" / kNew / "sub/a.json";
  EXPECT_EQ(fs::read_symlink(link), "../../../blobs/e1");
  EXPECT_TRUE(model.has(kNew, "sub/a.json"));
  EXPECT_TRUE(model.has(kNew, "sub/a.json", 2));
  EXPECT_FALSE(model.has(kNew, "sub/a.json", 3));
  EXPECT_FALSE(model.has(kNew, "b.json"));
  add("org/name", kNew, "sub/a.json", "e2");  // moved to another blob
  EXPECT_EQ(fs::read_symlink(link), "../../../blobs/e2");
}

TEST_F(HubCacheTest, KeepsRefs) {
  const ModelCache model(cache(), "org/name");
  EXPECT_EQ(model.commit_of("main"), std::nullopt);
  EXPECT_EQ(model.commit_of(kOld), kOld);
  model.set_ref("main", kOld);
  model.set_ref("main", kNew);
  model.set_ref("refs/pr/1", kOld);
  model.set_ref(kNew, kNew);
  EXPECT_EQ(model.commit_of("main"), kNew);
  EXPECT_EQ(model.commit_of("refs/pr/1"), kOld);
  EXPECT_EQ(model.refs().size(), 2U);
  std::ofstream(model.directory() / "refs/bad") << "../../x";
  EXPECT_EQ(model.commit_of("bad"), std::nullopt);
}

TEST_F(HubCacheTest, TellsWholeFromPartial) {
  add_whole("o/m", kNew, "1");
  const ModelCache model(cache(), "o/m");
  EXPECT_TRUE(is_whole(model.snapshot(kNew)));
  fs::remove(model.blob("weights-1"));  // the link leads nowhere now
  EXPECT_FALSE(is_whole(model.snapshot(kNew)));
  EXPECT_FALSE(is_whole(model.snapshot(kOld)));
  fs::remove(model.snapshot(kNew) / "model.safetensors");
  std::ofstream(model.snapshot(kNew) / "model.safetensors.index.json")
      << R"({"weight_map":{"x":"s1","y":"s2"}})";
  std::ofstream(model.snapshot(kNew) / "s1") << "x";
  EXPECT_FALSE(is_whole(model.snapshot(kNew)));
  std::ofstream(model.snapshot(kNew) / "s2") << "y";
  EXPECT_TRUE(is_whole(model.snapshot(kNew)));
}

TEST_F(HubCacheTest, ListsDecisionModels) {
  EXPECT_TRUE(list_models(cache() / "none").empty());
  add_whole("o/m", kOld, "1");
  add_whole("o/m", kNew, "2");
  add("a/partial", kNew, "decision_config.json", "e");
  add("a/other", kNew, "config.json", "e");
  ModelCache(cache(), "o/m").set_ref("main", kNew);
  const auto models = list_models(cache());
  ASSERT_EQ(models.size(), 3U);
  EXPECT_EQ(models[0].repo, "a/partial");
  EXPECT_FALSE(models[0].whole);
  EXPECT_EQ(models[1].revision, kOld);
  EXPECT_EQ(models[2].revision, "main");
  EXPECT_EQ(models[2].commit, kNew);
  EXPECT_TRUE(models[2].whole);
  EXPECT_EQ(models[2].bytes, std::string("same").size() + std::string("weights-2").size());
}

TEST_F(HubCacheTest, RemovesARevisionAndKeepsWhatOthersShare) {
  add_whole("o/m", kOld, "1");
  add_whole("o/m", kNew, "2");
  const ModelCache model(cache(), "o/m");
  model.set_ref("main", kNew);
  model.set_ref("v1", kOld);
  EXPECT_EQ(remove_model(cache(), "o/m", "v1"), std::string("weights-1").size());
  EXPECT_FALSE(fs::exists(model.snapshot(kOld)));
  EXPECT_FALSE(has_blob("o/m", "weights-1"));
  EXPECT_TRUE(is_whole(model.snapshot(kNew)));
  EXPECT_EQ(model.refs().size(), 1U);
  EXPECT_GT(remove_model(cache(), "o/m", std::nullopt), 0U);
  EXPECT_FALSE(fs::exists(model.directory()));
}

TEST_F(HubCacheTest, RemovesOnlyWhatItLists) {
  add("a/other", kNew, "config.json", "e");
  add_whole("o/m", kNew, "1");
  EXPECT_THROW(remove_model(cache(), "a/other", std::nullopt), Error);
  EXPECT_THROW(remove_model(cache(), "o/m", "v1"), Error);
  EXPECT_THROW(remove_model(cache(), "no/such", std::nullopt), Error);
  EXPECT_TRUE(has_blob("a/other", "e"));
  EXPECT_TRUE(has_blob("o/m", "weights-1"));
}

TEST_F(HubCacheTest, DoesNotRemoveWhatIsBeingPulled) {
  add_whole("o/m", kNew, "1");
  const auto lock = FileLock::try_lock(ModelCache(cache(), "o/m").lock("weights-1"));
  ASSERT_TRUE(lock);
  EXPECT_FALSE(FileLock::try_lock(ModelCache(cache(), "o/m").lock("weights-1")));
  try {
    remove_model(cache(), "o/m", std::nullopt);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another process"));
  }
  EXPECT_TRUE(has_blob("o/m", "weights-1"));
}

TEST_F(HubCacheTest, KnowsBothDigests) {
  const fs::path file = cache() / "file";
  std::ofstream(file) << "hello\n";
  EXPECT_EQ(digest_like(std::string(40, '0'), file),
            "ce013625030ba8dba906f756967f9e9ca394464a");  // git hash-object
  EXPECT_EQ(digest_like(std::string(64, '0'), file),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");  // sha256sum
  EXPECT_EQ(digest_like("other", file), "");
}

}  // namespace
}  // namespace d3::hub
