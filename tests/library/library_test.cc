// The C++ API against a loaded checkpoint: the same answers as the HTTP API's body has, and failures as
// values.
#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <d3/d3.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "support/checkpoint_writer.h"
#include "support/file_content.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::library {
namespace {

using testing::HasSubstr;

/// One model for all tests that only ask.
class Library : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<test::TemporaryDirectory>();
    const auto tokenizer = test::data_path("tokenizer-small");
    test::write_checkpoint(test::preset("tiny", tokenizer), tokenizer, directory_->path());
    auto loaded = Model::load(checkpoint(), options());
    ASSERT_TRUE(loaded) << loaded.failure().message;
    model_ = std::make_unique<Model>(std::move(*loaded));
  }
  static void TearDownTestSuite() {
    model_.reset();
    directory_.reset();
  }

  static std::string checkpoint() { return directory_->path().string(); }
  static LoadOptions options() {
    LoadOptions options;
    options.dtype = Dtype::kFloat32;
    options.threads = 2;
    return options;
  }
  static const Model& model() { return *model_; }

  static Request request(const std::string& state) {
    Request request;
    request.state = state;
    request.questions = {
        Question::choice("kind", "What is it?", {{"code", "Writing code"}, {"math", {}}, {"chat", "x"}}),
        Question::noul("long", "Is it long?"),
        Question::score("late", "How late?", {"on time", "late", "never"})};
    return request;
  }

 private:
  static inline std::unique_ptr<test::TemporaryDirectory> directory_;
  static inline std::unique_ptr<Model> model_;
};

double number(const json::Value& object, std::string_view key) {
  return std::stod(object.find(key)->as_number().text);
}

TEST_F(Library, SaysWhatTheModelIs) {
  EXPECT_EQ(model().info().dtype, "float32");
  EXPECT_EQ(model().info().directory, checkpoint());
  EXPECT_FALSE(model().info().name.empty());
  EXPECT_TRUE(model().info().takes_media);
  EXPECT_TRUE(model().info().max_length.has_value());
  EXPECT_THAT(std::string(version()), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST_F(Library, AnswersAsTheHttpApiDoes) {
  const auto reply = model().ask(request("The train stands still."));
  ASSERT_TRUE(reply) << reply.failure().message;
  const auto body = model().ask_json(
      R"({"model":"any","state":"The train stands still.","questions":{
          "kind":{"type":"choice","instructions":"What is it?",
                  "criteria":{"code":"Writing code","math":null,"chat":"x"}},
          "long":{"type":"noul","instructions":"Is it long?"},
          "late":{"type":"score","instructions":"How late?","criteria":["on time","late","never"]}}})");
  ASSERT_TRUE(body) << body.failure().message;
  const json::Value parsed = json::parse(*body);
  EXPECT_EQ(std::stol(parsed.find("usage")->find("input_tokens")->as_number().text), reply->input_tokens);
  const json::Value& answers = *parsed.find("answers");
  ASSERT_EQ(reply->answers.size(), 3U);

  const Answer& kind = *reply->find("kind");
  EXPECT_EQ(kind.type, QuestionType::kChoice);
  EXPECT_EQ(kind.decision(), answers.find("kind")->find("choice")->as_string());
  ASSERT_EQ(kind.options.size(), 3U);
  for (const OptionProbability& option : kind.options)
    EXPECT_EQ(option.probability, number(*answers.find("kind")->find("probabilities"), option.key))
        << option.key;
  EXPECT_EQ(kind.confidence(), number(*answers.find("kind"), "confidence"));

  const Answer& truth = *reply->find("long");
  EXPECT_EQ(truth.type, QuestionType::kNoul);
  EXPECT_EQ(truth.options[0].key, "false");
  EXPECT_EQ(truth.truth(), number(*answers.find("long"), "noul"));

  const Answer& score = *reply->find("late");
  EXPECT_EQ(score.type, QuestionType::kScore);
  EXPECT_EQ(score.score(), number(*answers.find("late"), "score"));
  EXPECT_EQ(reply->find("nothing"), nullptr);
  EXPECT_GT(reply->compute_time.count(), 0);
}

TEST_F(Library, ReadsJsonStatesAsTheHttpApiDoes) {
  Request asked = request("");
  asked.state = Content::json(R"({"b": 1e5, "a": [true, null]})");
  const auto reply = model().ask(std::move(asked));
  ASSERT_TRUE(reply) << reply.failure().message;
  const auto as_text = model().ask(request(R"({"b": 100000.0, "a": [true, null]})"));
  ASSERT_TRUE(as_text);
  EXPECT_EQ(reply->answers[0].options[0].probability, as_text->answers[0].options[0].probability);
}

TEST_F(Library, TakesImagesAndVideosAsBytesFilesAndUrls) {
  const auto file = test::data_path("media/rgb.png");
  const std::string content = test::content_of(file);
  std::vector<std::byte> bytes(content.size());
  std::transform(content.begin(), content.end(), bytes.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  std::vector<Request> requests(3, request(""));
  requests[0].images = {Media::file(file)};
  requests[1].images = {Media::bytes(bytes)};
  requests[2].videos = {Media::file(test::data_path("media/short.mp4"))};
  const auto replies = model().ask_all(requests);
  ASSERT_TRUE(replies[0]) << replies[0].failure().message;
  ASSERT_TRUE(replies[1]) << replies[1].failure().message;
  ASSERT_TRUE(replies[2]) << replies[2].failure().message;
  EXPECT_NEAR(replies[0]->answers[0].confidence(), replies[1]->answers[0].confidence(), 1e-5);
  const auto without = model().ask(request(""));
  ASSERT_TRUE(without);
  EXPECT_NE(without->answers[0].confidence(), replies[0]->answers[0].confidence());
  EXPECT_GT(replies[0]->input_tokens, without->input_tokens);

  Request remote = request("");
  remote.images = {Media::url("http://127.0.0.1/x.png")};
  const auto refused = model().ask(std::move(remote));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().field, "images[0]");
}

TEST_F(Library, NamesTheMediumThatIsAtFault) {
  Request missing = request("");
  missing.images = {Media::file(test::data_path("media/rgb.png")), Media::file("no-such-file.png")};
  const auto not_there = model().ask(std::move(missing));
  ASSERT_FALSE(not_there);
  EXPECT_EQ(not_there.failure().code, FailureCode::kNotFound);
  EXPECT_EQ(not_there.failure().field, "images[1]");

  Request damaged = request("");
  damaged.videos = {Media::bytes({std::byte{1}, std::byte{2}})};
  const auto refused = model().ask(std::move(damaged));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, FailureCode::kInvalidArgument);
  EXPECT_EQ(refused.failure().field, "videos[0]");

  Request directory = request("");
  directory.images = {Media::file(checkpoint())};
  EXPECT_FALSE(model().ask(std::move(directory)));
}

TEST_F(Library, AsksManyInOrderAndKeepsFailuresApart) {
  std::vector<Request> requests;
  for (int i = 0; i < 12; ++i) requests.push_back(request("state " + std::to_string(i)));
  requests[7].questions.clear();
  const auto results = model().ask_all(requests);
  ASSERT_EQ(results.size(), requests.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (i == 7) {
      ASSERT_FALSE(results[i]);
      EXPECT_EQ(results[i].failure().field, "questions");
      continue;
    }
    ASSERT_TRUE(results[i]) << results[i].failure().message;
  }
  for (const size_t i : {size_t{0}, size_t{11}}) {
    const auto alone = model().ask(requests[i]);
    ASSERT_TRUE(alone);
    EXPECT_NEAR(alone->answers[0].confidence(), results[i]->answers[0].confidence(), 1e-5);
  }
}

TEST_F(Library, IsAskedByManyThreads) {
  const auto expected = model().ask(request("x"));
  ASSERT_TRUE(expected);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 3; ++j) {
        const auto reply = model().ask(request("x"));
        ASSERT_TRUE(reply);
        EXPECT_NEAR(reply->answers[0].confidence(), expected->answers[0].confidence(), 1e-5);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Library, RefusesPromptsThatAreTooLong) {
  LoadOptions options = Library::options();
  options.max_length = 100;
  const auto small = Model::load(checkpoint(), options);
  ASSERT_TRUE(small);
  const auto refused = small->ask(request(std::string(2000, 'x')));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, FailureCode::kInvalidArgument);
  EXPECT_EQ(refused.failure().field, "questions.kind");
}

TEST_F(Library, EndsAtTheTimeout) {
  std::string long_state;
  for (int i = 0; i < 100; ++i) long_state += "word " + std::to_string(i) + ' ';
  Request slow = request(long_state);
  std::vector<std::future<Result<Reply>>> before;
  for (int i = 0; i < 4; ++i) before.push_back(model().submit(slow));
  Request late = request("x");
  late.timeout = std::chrono::milliseconds(1);
  const auto ended = model().ask(std::move(late));
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.failure().code, FailureCode::kDeadlineExceeded);
  for (auto& future : before) EXPECT_TRUE(future.get());
}

TEST_F(Library, RefusesMoreThanTheQueueHolds) {
  LoadOptions options = Library::options();
  options.max_queued_requests = 2;
  const auto small = Model::load(checkpoint(), options);
  ASSERT_TRUE(small);
  std::vector<std::future<Result<Reply>>> asked;
  for (int i = 0; i < 12; ++i) asked.push_back(small->submit(request(std::string(1500, 'x'))));
  size_t refused = 0;
  for (auto& future : asked) {
    const auto result = future.get();
    if (result) continue;
    EXPECT_EQ(result.failure().code, FailureCode::kOverloaded);
    ++refused;
  }
  EXPECT_GT(refused, 0U);
  // ask_all waits for room instead.
  for (const auto& result : small->ask_all(std::vector<Request>(10, request("x")))) EXPECT_TRUE(result);
}

TEST_F(Library, AnswersWhatIsAskedWhenTheModelGoes) {
  std::vector<std::future<Result<Reply>>> asked;
  {
    auto loaded = Model::load(checkpoint(), options());
    ASSERT_TRUE(loaded);
    const Model moved = std::move(*loaded);
    for (int i = 0; i < 12; ++i) asked.push_back(moved.submit(request(std::string(1500, 'x'))));
  }
  for (auto& future : asked) {
    const auto result = future.get();
    EXPECT_TRUE(result || result.failure().code == FailureCode::kUnavailable);
  }
}

TEST(LibraryDemo, NeedsNeitherFilesNorTheHub) {
  LoadOptions options;
  options.hub.use_environment = false;
  const auto demo = Model::load("demo", options);
  ASSERT_TRUE(demo) << demo.failure().message;
  EXPECT_EQ(demo->info().name, "demo");
  EXPECT_TRUE(demo->info().directory.empty());
  EXPECT_TRUE(demo->info().takes_media);
  const auto reply =
      demo->ask({"The goalkeeper saved the second shot.",
                 {Question::choice("topic", "What is it about?", {{"sport", {}}, {"food", {}}})}});
  ASSERT_TRUE(reply) << reply.failure().message;
  EXPECT_EQ(reply->answers[0].options.size(), 2U);

  options.hub.revision = "main";
  const auto refused = Model::load("demo", options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().field, "hub.revision");
}

TEST_F(Library, LoadingFailsWithAReason) {
  const auto missing = Model::load("/no/such/directory");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().code, FailureCode::kNotFound);
  EXPECT_THAT(missing.failure().message, HasSubstr("/no/such/directory"));

  const test::TemporaryDirectory empty;
  const auto broken = Model::load(empty.path().string());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.failure().code, FailureCode::kBadCheckpoint);

  LoadOptions options = Library::options();
  options.threads = -1;
  const auto impossible = Model::load(checkpoint(), options);
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.failure().code, FailureCode::kInvalidArgument);
  EXPECT_EQ(impossible.failure().field, "threads");

  options = Library::options();
  options.cpu_target = "none-such";
  const auto unknown = Model::load(checkpoint(), options);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.failure().code, FailureCode::kInvalidArgument);
}

TEST_F(Library, TellsHowFarLoadingIs) {
  double last = -1;
  LoadOptions options = Library::options();
  options.on_progress = [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  };
  ASSERT_TRUE(Model::load(checkpoint(), options));
  EXPECT_EQ(last, 1);
}

TEST_F(Library, JsonBodiesFailAsValues) {
  const auto refused = model().ask_json(R"({"state":"x","questions":{"q":{"type":"guess"}}})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, FailureCode::kInvalidArgument);
  EXPECT_EQ(refused.failure().field, "questions.q.type");
  EXPECT_FALSE(model().ask_json("{"));
}

}  // namespace
}  // namespace d3::library
