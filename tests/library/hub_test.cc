// Models by name through the C++ API, from a hub on loopback.
#include <filesystem>
#include <map>
#include <string>

#include <d3/d3.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_hub.h"
#include "support/file_content.h"
#include "support/micro_checkpoint.h"

namespace d3::library {
namespace {

namespace fs = std::filesystem;
using test::FakeHub;

class LibraryHub : public test::MicroCheckpointTest {
 protected:
  LibraryHub() : hub_(files()) {
    options_.dtype = Dtype::kFloat32;
    options_.threads = 1;
    options_.hub.use_environment = false;
    options_.hub.endpoint = hub_.url();
    options_.hub.cache = home_.path() / "hub";
  }

  static std::map<std::string, FakeHub::File> files() {
    std::map<std::string, FakeHub::File> files;
    for (const auto& entry : fs::directory_iterator(checkpoint()))
      files[entry.path().filename()] = {test::content_of(entry.path()),
                                        entry.path().extension() == ".safetensors"};
    return files;
  }

  static double answer(const Model& model) {
    Request request;
    request.state = "x";
    request.questions = {Question::noul("q", "y")};
    const auto reply = model.ask(std::move(request));
    return reply ? reply->answers[0].truth() : -1;
  }

  FakeHub hub_;
  test::TemporaryDirectory home_;
  LoadOptions options_;
};

TEST_F(LibraryHub, PullsOnceAndAnswersAsTheDirectory) {
  std::uint64_t done = 0;
  options_.hub.on_progress = [&](std::uint64_t now, std::uint64_t) { done = now; };
  const auto by_name = Model::load("org/model", options_);
  ASSERT_TRUE(by_name) << by_name.failure().message;
  EXPECT_GT(done, 0U);
  EXPECT_EQ(by_name->info().directory.filename(), FakeHub::kCommit);
  const auto by_directory = Model::load(checkpoint(), options_);
  ASSERT_TRUE(by_directory);
  EXPECT_EQ(answer(*by_name), answer(*by_directory));
  EXPECT_GE(answer(*by_name), 0);

  const size_t requests = hub_.requests().size();
  options_.hub.offline = true;
  EXPECT_TRUE(Model::load("org/model", options_));
  EXPECT_EQ(hub_.requests().size(), requests);
}

TEST_F(LibraryHub, FailuresAreValues) {
  const auto code = [&](const std::string& name) {
    const auto model = Model::load(name, options_);
    EXPECT_FALSE(model);
    return model.failure().code;
  };
  EXPECT_EQ(code("org/other"), FailureCode::kNotFound);
  EXPECT_EQ(code("noname"), FailureCode::kNotFound);
  EXPECT_EQ(code("org/mo..del"), FailureCode::kInvalidArgument);
  options_.hub.revision = "main";
  EXPECT_EQ(code("org/model@main"), FailureCode::kInvalidArgument);
  EXPECT_EQ(code(checkpoint()), FailureCode::kInvalidArgument);
  options_.hub.revision = {};
  options_.hub.offline = true;
  EXPECT_EQ(code("org/model"), FailureCode::kNotFound);
  options_.hub.cache.clear();
  EXPECT_EQ(code("org/model"), FailureCode::kInvalidArgument);
}

}  // namespace
}  // namespace d3::library
