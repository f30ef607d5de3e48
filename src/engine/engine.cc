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
      vision_cache_(options.vision_cache_bytes),
      media_encoder_(*executor_, vision_cache_),
      queue_(options.max_batch_tokens, options.whole_requests) {
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
  job->arrival = Clock::now();
  const int64_t tokens = request.total_tokens();
  std::vector<int64_t> question_tokens(request.tails.size());
  for (size_t i = 0; i < question_tokens.size(); ++i) question_tokens[i] = request.question_tokens(i);
  job->answers.resize(request.tails.size());
  job->request = std::move(request);
  job->deadline = deadline;
  job->done = std::move(done);
  uint64_t id = 0;
  bool earlier = false;
  {
    const std::lock_guard lock(mutex_);
    check_limits(tokens);
    id = ++last_id_;
    active_.emplace(id, std::move(job));
    try {
      queue_.push(id, std::move(question_tokens));
    } catch (...) {
      active_.erase(id);
      throw;
    }
    earlier = deadline && *deadline < next_deadline_;
    if (earlier) next_deadline_ = *deadline;
  }
  work_.notify_one();
  if (earlier) deadlines_.notify_one();
  return id;
}

void Engine::check_room() const {
  const std::lock_guard lock(mutex_);
  check_limits(0);
}

void Engine::check_limits(int64_t tokens) const {
  if (draining_) throw Error(ErrorCode::kUnavailable, "the server is shutting down");
  const int64_t before = queue_.token_count() + running_tokens_;
  const bool full = active_.size() >= options_.max_queued_requests;
  const bool slow = options_.max_queue_time.count() > 0 && before > 0 &&
                    rate_.time_for(before + tokens) > options_.max_queue_time;
  if (full || slow) throw Error(ErrorCode::kOverloaded, "too many requests are waiting; try again later");
}

void Engine::cancel(uint64_t id) {
  if (!is_active(id)) return;
  metrics_.cancelled.add();
  end(id, failure(ErrorCode::kCancelled, "the request was cancelled"));
}

bool Engine::drain(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  return idle_.wait_for(lock, timeout, [this] { return active_.empty() && ending_ == 0; });
}

std::chrono::duration<double> Engine::queue_time() const {
  const std::lock_guard lock(mutex_);
  return rate_.time_for(queue_.token_count() + running_tokens_);
}

QueueState Engine::state() const {
  const std::lock_guard lock(mutex_);
  return {
      .requests = active_.size(), .waiting_tokens = queue_.token_count(), .running_tokens = running_tokens_};
}

void Engine::run_batches() {
  for (;;) {
    std::vector<Work> batch;
    try {
      if (!wait_for_batch(batch)) return;
      begin_batch(batch);
      run(batch);
    } catch (const std::exception& error) {
      // Memory, most likely, and nobody can tell which questions are still in the queue: all start anew.
      end_all(executor_failure(error));
    }
  }
}

/// False when the engine stops.
bool Engine::wait_for_batch(std::vector<Work>& batch) {
  std::unique_lock lock(mutex_);
  running_tokens_ = 0;
  work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
  if (stopping_) return false;
  const int64_t before = queue_.token_count();
  for (const Slice& slice : queue_.next_batch())
    batch.push_back(
        {.id = slice.id, .job = active_.at(slice.id), .first = slice.first, .count = slice.count});
  running_tokens_ = before - queue_.token_count();
  return true;
}

void Engine::begin_batch(std::span<const Work> batch) {
  const auto now = Clock::now();
  for (const Work& work : batch) {
    if (work.job->begun) continue;
    work.job->begun = true;
    work.job->timing.queue = now - work.job->arrival;
    metrics_.queue_seconds.observe(work.job->timing.queue.count());
  }
}

void Engine::run(std::span<const Work> batch) {
  std::vector<float> logits;
  try {
    logits = execute(batch);
  } catch (const std::exception& error) {
    metrics_.failed_batches.add();
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

void Engine::encode_media(std::span<const Work> batch) {
  std::vector<RequestMedia*> media;
  for (const Work& work : batch)
    for (const MediaPlace& place : work.job->request.media) media.push_back(place.media.get());
  if (!media.empty()) media_encoder_.encode(std::move(media));
}

std::vector<float> Engine::execute(std::span<const Work> batch) {
  const auto start = Clock::now();
  encode_media(batch);
  model::PackedBatch packed;
  for (const Work& work : batch) {
    const PreparedRequest& request = work.job->request;
    model::QuestionGroup group{.prefix = request.head, .tails = {}, .media = media_blocks(request.media)};
    for (size_t i = 0; i < work.count; ++i) group.tails.emplace_back(request.tails[work.first + i]);
    packed.groups.push_back(std::move(group));
  }
  std::vector<float> logits = executor_->run(packed);
  if (logits.size() != static_cast<size_t>(packed.question_count()) * model::kAnswerCodes)
    throw Error(ErrorCode::kInternal, "it returned logits of the wrong size");
  const std::chrono::duration<double> taken = Clock::now() - start;
  metrics_.add_batch(packed, taken);
  for (const Work& work : batch) work.job->timing.forward += taken;
  const std::lock_guard lock(mutex_);
  rate_.add(packed.token_count(), taken);
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
  if (job.answered < job.answers.size()) return;
  metrics_.forward_seconds.observe(job.timing.forward.count());
  end(work.id, {.answers = std::move(job.answers), .timing = job.timing});
}

void Engine::watch_deadlines() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = Clock::now();
    std::optional<uint64_t> late;
    next_deadline_ = Clock::time_point::max();
    for (const auto& [id, job] : active_) {
      if (!job->deadline) continue;
      if (*job->deadline <= now)
        late = id;
      else
        next_deadline_ = std::min(next_deadline_, *job->deadline);
    }
    if (late) {
      lock.unlock();
      metrics_.expired.add();
      end(*late, failure(ErrorCode::kDeadlineExceeded, "the request was not answered in time"));
      lock.lock();
    } else if (next_deadline_ < Clock::time_point::max()) {
      deadlines_.wait_until(lock, next_deadline_);
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

void Engine::end_all(const Outcome& outcome) {
  for (;;) {
    uint64_t id = 0;
    {
      const std::lock_guard lock(mutex_);
      if (active_.empty()) return;
      id = active_.begin()->first;
    }
    end(id, outcome);
  }
}

}  // namespace d3::engine
