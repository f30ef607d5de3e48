#include "engine/engine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "decision/answer.h"
#include "model/batch.h"

namespace d3::engine {
namespace {

Outcome failure(ErrorCode code, const std::string& message) {
  return {.answers = {}, .error = std::make_exception_ptr(Error(code, message))};
}

Outcome executor_failure(const std::exception& error) {
  return failure(ErrorCode::kInternal, std::string("the executor failed: ") + error.what());
}

}  // namespace

Engine::Engine(std::unique_ptr<model::Executor> executor, double temperature, const EngineOptions& options)
    : executor_(std::move(executor)),
      temperature_(temperature),
      options_(options),
      queue_(options.max_batch_tokens) {
  deadline_thread_ = std::thread([this] { watch_deadlines(); });
  batch_thread_ = std::thread([this] { run_batches(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    stopping_ = true;
  }
  work_.notify_all();
  deadlines_.notify_all();
  batch_thread_.join();
  deadline_thread_.join();
  while (!active_.empty())  // no other thread is left to change it
    end(active_.begin()->first, failure(ErrorCode::kUnavailable, "the server has stopped"));
}

uint64_t Engine::submit(PreparedRequest request, std::optional<Clock::time_point> deadline, Done done) {
  auto job = std::make_shared<Job>();
  std::vector<int64_t> question_tokens(request.tails.size());
  for (size_t i = 0; i < question_tokens.size(); ++i) question_tokens[i] = request.question_tokens(i);
  job->answers.resize(request.tails.size());
  job->request = std::move(request);
  job->deadline = deadline;
  job->done = std::move(done);
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    check_limits();
    id = ++last_id_;
    active_.emplace(id, std::move(job));
    queue_.push(id, std::move(question_tokens));
  }
  work_.notify_one();
  if (deadline) deadlines_.notify_one();
  return id;
}

void Engine::check_limits() const {
  if (draining_) throw Error(ErrorCode::kUnavailable, "the server is shutting down");
  const bool full = active_.size() >= options_.max_queued_requests;
  const bool slow =
      options_.max_queue_time.count() > 0 && rate_.time_for(queue_.token_count()) > options_.max_queue_time;
  if (full || slow) throw Error(ErrorCode::kOverloaded, "too many requests are waiting; try again later");
}

void Engine::cancel(uint64_t id) { end(id, failure(ErrorCode::kCancelled, "the request was cancelled")); }

bool Engine::drain(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  return idle_.wait_for(lock, timeout, [this] { return active_.empty() && ending_ == 0; });
}

std::chrono::duration<double> Engine::queue_time() const {
  const std::lock_guard lock(mutex_);
  return rate_.time_for(queue_.token_count());
}

void Engine::run_batches() {
  for (;;) {
    std::vector<Work> batch;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      for (const Slice& slice : queue_.next_batch())
        batch.push_back(
            {.id = slice.id, .job = active_.at(slice.id), .first = slice.first, .count = slice.count});
    }
    run(batch);
  }
}

void Engine::run(std::span<const Work> batch) {
  std::vector<float> logits;
  try {
    logits = execute(batch);
  } catch (const std::exception& error) {
    if (batch.size() == 1) {
      end(batch[0].id, executor_failure(error));
      return;
    }
    // One of them is at fault, or they are too much together: alone, each stands for itself.
    for (const Work& work : batch)
      if (is_active(work.id)) run({&work, 1});
    return;
  }
  std::span<const float> rest = logits;
  for (const Work& work : batch) {
    const size_t size = work.count * model::kAnswerCodes;
    deliver(work, rest.first(size));
    rest = rest.subspan(size);
  }
}

std::vector<float> Engine::execute(std::span<const Work> batch) {
  model::PackedBatch packed;
  for (const Work& work : batch) {
    const PreparedRequest& request = work.job->request;
    model::QuestionGroup group{.prefix = request.head, .tails = {}};
    for (size_t i = 0; i < work.count; ++i) group.tails.emplace_back(request.tails[work.first + i]);
    packed.groups.push_back(std::move(group));
  }
  const auto start = Clock::now();
  std::vector<float> logits = executor_->run(packed);
  if (logits.size() != static_cast<size_t>(packed.question_count()) * model::kAnswerCodes)
    throw Error(ErrorCode::kInternal, "it returned logits of the wrong size");
  const std::lock_guard lock(mutex_);
  rate_.add(packed.token_count(), Clock::now() - start);
  return logits;
}

void Engine::deliver(const Work& work, std::span<const float> logits) {
  Job& job = *work.job;
  try {
    for (size_t i = 0; i < work.count; ++i)
      job.answers[work.first + i] = decision::answer_question(
          job.request.request->questions[work.first + i],
          logits.subspan(i * model::kAnswerCodes, model::kAnswerCodes), temperature_);
  } catch (const std::exception& error) {
    end(work.id, executor_failure(error));
    return;
  }
  job.answered += work.count;
  if (job.answered == job.answers.size()) end(work.id, {.answers = std::move(job.answers)});
}

void Engine::watch_deadlines() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::optional<Clock::time_point> next;
    std::vector<uint64_t> late;
    const auto now = Clock::now();
    for (const auto& [id, job] : active_) {
      if (!job->deadline) continue;
      if (*job->deadline <= now)
        late.push_back(id);
      else if (!next || *job->deadline < *next)
        next = job->deadline;
    }
    if (!late.empty()) {
      lock.unlock();
      for (const uint64_t id : late)
        end(id, failure(ErrorCode::kDeadlineExceeded, "the request was not answered in time"));
      lock.lock();
    } else if (next) {
      deadlines_.wait_until(lock, *next);
    } else {
      deadlines_.wait(lock);
    }
  }
}

bool Engine::is_active(uint64_t id) const {
  const std::lock_guard lock(mutex_);
  return active_.contains(id);
}

void Engine::end(uint64_t id, Outcome outcome) {
  std::shared_ptr<Job> job;
  {
    const std::lock_guard lock(mutex_);
    const auto found = active_.find(id);
    if (found == active_.end()) return;
    job = std::move(found->second);
    active_.erase(found);
    queue_.remove(id);
    ++ending_;
  }
  job->done(std::move(outcome));
  const std::lock_guard lock(mutex_);
  --ending_;
  if (active_.empty() && ending_ == 0) idle_.notify_all();
}

}  // namespace d3::engine
