// Pulling from a hub that behaves.
#include "hub/pull.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "hub/cache.h"
#include "support/fake_hub.h"
#include "support/file_content.h"
#include "support/temporary_directory.h"

namespace d3::hub {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::FakeHub;
using test::HubRequest;
using testing::HasSubstr;

class PullTest : public testing::Test {
 protected:
  Pulled pull(const Settings& settings, const std::string& name = "org/model",
              const PullEvents& events = {}) {
    return hub::pull(parse_model_name(name), settings, events);
  }
  Settings settings() const { return hub_.settings(directory_.path()); }

  void expect_whole(const Pulled& pulled) {
    EXPECT_EQ(pulled.commit, FakeHub::kCommit);
    for (const auto& [path, file] : hub_.files()) {
      if (path == "README.md" || path == "pytorch_model.bin") continue;
      EXPECT_EQ(content_of(pulled.directory / path), file.content) << path;
    }
  }

  FakeHub hub_;
  test::TemporaryDirectory directory_;
};

TEST_F(PullTest, FetchesWhatACheckpointNeeds) {
  const Pulled pulled = pull(settings());
  expect_whole(pulled);
  EXPECT_EQ(pulled.directory, directory_.path() / "models--org--model/snapshots" / FakeHub::kCommit);
  EXPECT_EQ(content_of(directory_.path() / "models--org--model/refs/main"), FakeHub::kCommit);
  EXPECT_EQ(hub_.count("README.md"), 0);
  EXPECT_EQ(hub_.count("pytorch_model.bin"), 0);
  EXPECT_EQ(hub_.count("/resolve/" + std::string(FakeHub::kCommit) + "/model.safetensors"), 7);  // its parts
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(directory_.path() / "models--org--model/blobs")) {
    EXPECT_EQ(entry.path().filename().string().find('.'), std::string::npos) << entry.path();
    bytes += entry.file_size();
  }
  EXPECT_EQ(pulled.fetched, bytes);
}

TEST_F(PullTest, FetchesNothingTwice) {
  pull(settings());
  const size_t requests = hub_.requests().size();
  const Pulled again = pull(settings());
  expect_whole(again);
  EXPECT_EQ(again.fetched, 0U);
  EXPECT_EQ(hub_.requests().size(), requests + 1);  // where main is now
  pull(settings(), std::string("org/model@") + FakeHub::kCommit);
  EXPECT_EQ(hub_.requests().size(), requests + 1);  // a commit never moves
}

TEST_F(PullTest, FetchesOnlyWhatChanged) {
  pull(settings());
  hub_.files()["config.json"].content = "another configuration";
  const ModelCache cache(directory_.path(), "org/model");
  fs::remove_all(cache.snapshot(FakeHub::kCommit));  // as if the commit were a new one
  const Pulled pulled = pull(settings());
  expect_whole(pulled);
  EXPECT_EQ(pulled.fetched, std::string("another configuration").size());
}

TEST_F(PullTest, SendsTheTokenToTheHubAlone) {
  pull(settings());
  int at_storage = 0;
  for (const HubRequest& request : hub_.requests()) {
    EXPECT_EQ(request.authorization, request.storage ? "" : "Bearer hf_secret") << request.target;
    at_storage += request.storage ? 1 : 0;
  }
  EXPECT_GE(at_storage, 8);
}

TEST_F(PullTest, SendsNoTokenWhenThereIsNone) {
  Settings anonymous = settings();
  anonymous.token.reset();
  pull(anonymous);
  for (const HubRequest& request : hub_.requests()) EXPECT_EQ(request.authorization, "");
}

TEST_F(PullTest, WorksOfflineFromTheCache) {
  Settings offline = settings();
  offline.offline = true;
  try {
    pull(offline);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr("offline"));
  }
  EXPECT_TRUE(hub_.requests().empty());
  pull(settings());
  const size_t requests = hub_.requests().size();
  expect_whole(pull(offline));
  EXPECT_EQ(hub_.requests().size(), requests);
}

TEST_F(PullTest, TakesTheCachedCopyWhenTheHubIsAway) {
  pull(settings());
  Settings away = settings();
  away.endpoint = "http://127.0.0.1:1";
  std::vector<std::string> notices;
  PullEvents events;
  events.notice = [&](const std::string& line) { notices.push_back(line); };
  expect_whole(pull(away, "org/model", events));
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_THAT(notices[0], HasSubstr("as the cache has it"));
}

TEST_F(PullTest, ReportsProgress) {
  std::vector<PullProgress> seen;
  PullEvents events;
  events.progress = [&](const PullProgress& progress) { seen.push_back(progress); };
  const Pulled pulled = pull(settings(), "org/model", events);
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::ranges::is_sorted(seen, {}, &PullProgress::done));
  EXPECT_EQ(seen.back().done, pulled.fetched);
  EXPECT_EQ(seen.back().bytes, pulled.fetched);
  // The digest of each file is computed once all of it is there.
  const uint64_t weights = hub_.files()["model.safetensors"].content.size();
  EXPECT_TRUE(std::ranges::any_of(seen, [&](const PullProgress& progress) {
    return progress.checking == weights && progress.done == progress.bytes;
  }));
  EXPECT_EQ(seen.back().checking, 0U);
}

TEST_F(PullTest, FetchesShards) {
  auto& files = hub_.files();
  files["model-1.safetensors"] = {files["model.safetensors"].content.substr(0, 50'000), true};
  files["model-2.safetensors"] = {files["model.safetensors"].content.substr(50'000), true};
  files.erase("model.safetensors");
  files["model.safetensors.index.json"] = {
      R"({"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}})", false};
  expect_whole(pull(settings()));
}

TEST_F(PullTest, AsksForEachFileWhenTheListingSaysTooLittle) {
  hub_.misbehave([](const HubRequest& request,
                    const std::string&) -> std::optional<test::LoopbackServer::Reply> {
    if (!request.target.starts_with("/api/")) return std::nullopt;
    std::string siblings;
    for (const auto& [path, file] : FakeHub::some_files())
      siblings += (siblings.empty() ? "" : ",") + (R"({"rfilename":")" + path + "\"}");
    return {{test::http_answer(
        "200 OK", std::string(R"({"sha":")") + FakeHub::kCommit + R"(","siblings":[)" + siblings + "]}")}};
  });
  expect_whole(pull(settings()));
}

TEST_F(PullTest, GetsEmptyFilesAndFilesThatAreTheSame) {
  hub_.files()["merges.txt"] = {"", false};
  hub_.files()["vocab.json"] = hub_.files()["config.json"];
  expect_whole(pull(settings()));
  EXPECT_EQ(hub_.count("vocab.json") + hub_.count("/config.json"), 1);
}

}  // namespace
}  // namespace d3::hub
