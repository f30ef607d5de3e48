#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "decision/answer.h"
#include "support/fake_executor.h"

namespace d3::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::FakeExecutor;
using test::FakeExecutorControl;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kOptions = 3;

/// A request whose questions have `tokens` tokens each and are named by their last token: first_name, +1, ..
PreparedRequest make_request(int32_t first_name, size_t questions, size_t tokens = 10) {
  auto request = std::make_shared<decision::Request>();
  PreparedRequest prepared;
  prepared.head.assign(tokens / 2, first_name);
  for (size_t i = 0; i < questions; ++i) {
    decision::Question question;
    question.id = std::to_string(i);
    for (int option = 0; option < kOptions; ++option)
      question.options.push_back({std::to_string(option), "x"});
    request->questions.push_back(std::move(question));
    prepared.tails.emplace_back(tokens - tokens / 2, first_name + static_cast<int32_t>(i));
  }
  prepared.request = std::move(request);
  return prepared;
}

std::vector<std::vector<double>> expected_probabilities(const PreparedRequest& request) {
  std::vector<std::vector<double>> all;
  for (size_t i = 0; i < request.tails.size(); ++i) {
    const std::vector<float> logits = test::fake_logits(request.head, request.tails[i]);
    all.push_back(decision::answer_question(request.request->questions[i], logits, 2.0).probabilities);
  }
  return all;
}

std::vector<std::vector<double>> probabilities(const Outcome& outcome) {
  std::vector<std::vector<double>> all;
  for (const decision::Answer& answer : outcome.answers) all.push_back(answer.probabilities);
  return all;
}

/// The code of an outcome's error; none for answers.
std::optional<ErrorCode> error_of(const Outcome& outcome) {
  if (!outcome.error) return std::nullopt;
  try {
    std::rethrow_exception(outcome.error);
  } catch (const Error& error) {
    return error.code();
  }
}

ErrorCode submit_error(Engine& engine, PreparedRequest request) {
  try {
    engine.submit(std::move(request), std::nullopt, [](Outcome) { ADD_FAILURE() << "refused, yet ended"; });
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "accepted";
  return ErrorCode::kInternal;
}

class EngineTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> make_engine(const EngineOptions& options = {.max_batch_tokens = 100}) {
    return std::make_unique<Engine>(std::make_unique<FakeExecutor>(control_), 2.0, options);
  }

  static std::future<Outcome> submit(Engine& engine, PreparedRequest request, uint64_t* id = nullptr,
                                     std::optional<Clock::time_point> deadline = std::nullopt) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    std::future<Outcome> future = promise->get_future();
    const uint64_t given = engine.submit(std::move(request), deadline,
                                         [promise](Outcome o) { promise->set_value(std::move(o)); });
    if (id != nullptr) *id = given;
    return future;
  }

  /// An engine whose thread is held inside a batch of the question named 1.
  std::unique_ptr<Engine> make_busy_engine(std::future<Outcome>& first,
                                           const EngineOptions& options = {.max_batch_tokens = 100}) {
    control_->close();
    std::unique_ptr<Engine> engine = make_engine(options);
    first = submit(*engine, make_request(1, 1));
    control_->wait_for_runs(1);
    return engine;
  }

  std::shared_ptr<FakeExecutorControl> control_ = std::make_shared<FakeExecutorControl>();
};

TEST_F(EngineTest, AnswersEveryQuestionInOrder) {
  const auto engine = make_engine();
  const PreparedRequest request = make_request(1, 23);  // 230 tokens: three batches
  const Outcome outcome = submit(*engine, request).get();
  EXPECT_EQ(probabilities(outcome), expected_probabilities(request));
  EXPECT_EQ(control_->batches().size(), 3U);
}

TEST_F(EngineTest, ServesTheOldestFirstAndPacksWhatWaits) {
  std::future<Outcome> first;
  const auto engine = make_busy_engine(first);
  std::vector<std::future<Outcome>> rest;
  for (int32_t name = 2; name <= 4; ++name) rest.push_back(submit(*engine, make_request(name, 1, 40)));
  control_->open();
  for (auto& future : rest) EXPECT_FALSE(error_of(future.get()));
  EXPECT_THAT(control_->batches(), ElementsAre(ElementsAre(1), ElementsAre(2, 3), ElementsAre(4)));
}

TEST_F(EngineTest, ALongRequestDelaysAShortOneByItsRunningBatchOnly) {
  control_->close();
  const auto engine = make_engine();
  auto lengthy = submit(*engine, make_request(1000, 60));
  control_->wait_for_runs(1);
  auto brief = submit(*engine, make_request(1, 1));
  control_->open();
  EXPECT_FALSE(error_of(brief.get()));
  EXPECT_FALSE(error_of(lengthy.get()));
  ASSERT_GE(control_->batches().size(), 2U);
  EXPECT_EQ(control_->batches()[1][0], 1);
}

TEST_F(EngineTest, CancelledRequestsLeaveTheQueue) {
  std::future<Outcome> first;
  const auto engine = make_busy_engine(first);
  uint64_t id = 0;
  auto cancelled = submit(*engine, make_request(2, 2), &id);
  auto kept = submit(*engine, make_request(10, 1));
  engine->cancel(id);
  EXPECT_EQ(error_of(cancelled.get()), ErrorCode::kCancelled);  // at once, while the batch still runs
  engine->cancel(id);
  control_->open();
  EXPECT_FALSE(error_of(kept.get()));
  EXPECT_FALSE(error_of(first.get()));
  EXPECT_THAT(control_->batches(), ElementsAre(ElementsAre(1), ElementsAre(10)));
}

TEST_F(EngineTest, CancellingWhileItsBatchRunsDropsTheRest) {
  control_->close();
  const auto engine = make_engine();
  uint64_t id = 0;
  auto cancelled = submit(*engine, make_request(1000, 30), &id);
  control_->wait_for_runs(1);
  engine->cancel(id);
  EXPECT_EQ(error_of(cancelled.get()), ErrorCode::kCancelled);
  control_->open();
  EXPECT_TRUE(engine->drain(seconds(60)));
  EXPECT_EQ(control_->batches().size(), 1U);
}

TEST_F(EngineTest, ALateRequestEndsAtItsDeadlineAndNeverRuns) {
  std::future<Outcome> first;
  const auto engine = make_busy_engine(first);
  auto late = submit(*engine, make_request(2, 1), nullptr, Clock::now() + milliseconds(20));
  auto patient = submit(*engine, make_request(3, 1), nullptr, Clock::now() + seconds(3600));
  auto past = submit(*engine, make_request(4, 1), nullptr, Clock::now() - seconds(1));
  EXPECT_EQ(error_of(late.get()), ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(error_of(past.get()), ErrorCode::kDeadlineExceeded);
  control_->open();
  EXPECT_FALSE(error_of(patient.get()));
  EXPECT_THAT(control_->batches(), ElementsAre(ElementsAre(1), ElementsAre(3)));
}

TEST_F(EngineTest, RefusesWhenTheQueueIsFull) {
  std::future<Outcome> first;
  const auto engine = make_busy_engine(first, {.max_batch_tokens = 100, .max_queued_requests = 2});
  auto second = submit(*engine, make_request(2, 1));
  EXPECT_EQ(submit_error(*engine, make_request(3, 1)), ErrorCode::kOverloaded);
  control_->open();
  EXPECT_FALSE(error_of(first.get()));
  EXPECT_FALSE(error_of(second.get()));
  ASSERT_TRUE(engine->drain(seconds(60)));
}

TEST_F(EngineTest, AFailingRequestFailsAlone) {
  std::future<Outcome> first;
  const auto engine = make_busy_engine(first);
  control_->fail_on(3);
  auto good = submit(*engine, make_request(2, 1));
  auto bad = submit(*engine, make_request(3, 1));
  const PreparedRequest request = make_request(4, 1);
  auto other = submit(*engine, request);
  control_->open();
  EXPECT_FALSE(error_of(good.get()));
  EXPECT_EQ(error_of(bad.get()), ErrorCode::kInternal);
  EXPECT_EQ(probabilities(other.get()), expected_probabilities(request));
  EXPECT_THAT(control_->batches(), ElementsAre(ElementsAre(1), ElementsAre(2, 3, 4), ElementsAre(2),
                                               ElementsAre(3), ElementsAre(4)));
  EXPECT_FALSE(error_of(submit(*engine, make_request(5, 1)).get()));
}

TEST_F(EngineTest, AFailureDropsTheRestOfItsRequest) {
  const auto engine = make_engine();
  control_->fail_on(1005);
  EXPECT_EQ(error_of(submit(*engine, make_request(1000, 60)).get()), ErrorCode::kInternal);
  EXPECT_TRUE(engine->drain(seconds(60)));
  EXPECT_EQ(control_->batches().size(), 1U);
}

TEST_F(EngineTest, DrainAnswersWhatWasAcceptedAndRefusesTheRest) {
  std::future<Outcome> first;
  const auto engine = make_busy_engine(first);
  auto second = submit(*engine, make_request(2, 25));
  EXPECT_FALSE(engine->drain(milliseconds(1)));  // held
  EXPECT_EQ(submit_error(*engine, make_request(100, 1)), ErrorCode::kUnavailable);
  control_->open();
  EXPECT_TRUE(engine->drain(seconds(60)));
  EXPECT_FALSE(error_of(first.get()));
  EXPECT_FALSE(error_of(second.get()));
}

TEST_F(EngineTest, StoppingEndsWhatIsLeft) {
  std::future<Outcome> first;
  auto engine = make_busy_engine(first);
  auto second = submit(*engine, make_request(2, 1));
  std::thread opener([&] {
    // The destructor must be waiting for the batch, or done with it, when the gate opens: both are fine.
    control_->open();
  });
  engine.reset();
  opener.join();
  EXPECT_EQ(first.wait_for(seconds(0)), std::future_status::ready);
  EXPECT_EQ(second.wait_for(seconds(0)), std::future_status::ready);
}

TEST_F(EngineTest, ManyThreadsGetTheirOwnAnswers) {
  const auto engine = make_engine({.max_batch_tokens = 200});
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int32_t client = 0; client < 8; ++client)
    clients.emplace_back([&, client] {
      for (int32_t round = 0; round < 100; ++round) {
        const PreparedRequest request =
            make_request(client * 100000 + round * 100, 1 + round % 7, 2 + static_cast<size_t>(round % 31));
        uint64_t id = 0;
        auto future = submit(*engine, request, &id, Clock::now() + seconds(3600));
        if (round % 10 == 9) {
          engine->cancel(id);
          const Outcome outcome = future.get();
          if (outcome.error && error_of(outcome) != ErrorCode::kCancelled) ++wrong;
        } else if (probabilities(future.get()) != expected_probabilities(request)) {
          ++wrong;
        }
      }
    });
  for (auto& client : clients) client.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(RateEstimate, FollowsTheLastBatches) {
  RateEstimate rate;
  EXPECT_EQ(rate.time_for(1000).count(), 0.0);
  rate.add(100, std::chrono::duration<double>(1.0));
  EXPECT_DOUBLE_EQ(rate.time_for(1000).count(), 10.0);
  for (int i = 0; i < 50; ++i) rate.add(400, std::chrono::duration<double>(1.0));
  EXPECT_NEAR(rate.time_for(1000).count(), 2.5, 0.01);
}

}  // namespace
}  // namespace d3::engine
