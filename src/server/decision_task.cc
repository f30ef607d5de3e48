#include "server/decision_task.h"

#include <utility>

#include "api/decisions.h"
#include "api/systemone.h"
#include "server/content_coding.h"

namespace d3::server {
namespace {

std::optional<engine::Clock::time_point> deadline_after(
    const std::optional<std::chrono::milliseconds>& timeout) {
  if (!timeout) return std::nullopt;
  return engine::Clock::now() + *timeout;
}

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

DecisionTask::DecisionTask(Context context, OnReply on_reply, OnError on_error)
    : context_(std::move(context)),
      deadline_(deadline_after(context_.timeout)),
      on_reply_(std::move(on_reply)),
      on_error_(std::move(on_error)) {}

void DecisionTask::start(Body body) {
  body_ = std::move(body);
  context_.to_workers([self = shared_from_this()] { self->work(&DecisionTask::read); });
}

void DecisionTask::work(void (DecisionTask::*step)()) {
  try {
    (this->*step)();
  } catch (const Error& error) {
    fail(error.code(), error.what(), error.field());
  } catch (const std::exception& error) {
    fail(ErrorCode::kInternal, error.what(), {});
  }
}

void DecisionTask::cancel() {
  on_reply_ = nullptr;
  on_error_ = nullptr;
  std::optional<uint64_t> id;
  {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    id = engine_id_;
  }
  if (id) context_.model.model->engine().cancel(*id);
}

DecisionTask::Parsed DecisionTask::parse(std::string_view body) const {
  const api::ServedModel& served = context_.model.served;
  if (context_.endpoint == Endpoint::kDecisions) {
    auto parsed = std::make_shared<api::DecisionsRequest>(api::parse_decisions(body, served));
    return {.request = {parsed, &parsed->request},
            .write = [parsed, &served](auto answers, const auto& info) {
              return api::write_decisions(*parsed, answers, served, info);
            }};
  }
  auto request =
      std::make_shared<decision::Request>(api::parse_systemone(body, served, context_.content_type));
  return {.request = request, .write = [request, &served](auto answers, const auto& info) {
            return api::write_systemone(*request, answers, served, info);
          }};
}

/// The body is gone afterwards, whatever comes of it, but for what media keep of its size.
DecisionTask::Parsed DecisionTask::parse_body() {
  Body sent = std::move(*body_);
  body_.reset();
  if (is_plain(context_.content_encoding)) {
    Parsed parsed = parse(sent.bytes);
    media_lease_ = std::move(sent.lease);
    return parsed;
  }
  Body decoded{.bytes = {}, .lease = sent.lease.sibling()};
  decoded.bytes = decode(context_.content_encoding, sent.bytes, context_.max_body, [&](size_t bytes) {
    if (!decoded.lease.grow(bytes))
      throw Error(ErrorCode::kOverloaded, "too many large requests are being read; try again later");
  });
  Parsed parsed = parse(decoded.bytes);
  media_lease_ = std::move(decoded.lease);
  return parsed;
}

bool DecisionTask::is_cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void DecisionTask::read() {
  if (is_cancelled()) return;
  const auto start = engine::Clock::now();
  Parsed parsed = parse_body();  // the body's memory goes before the tokens come
  work_[Stage::kParse] = engine::Clock::now() - start;
  request_ = std::move(parsed.request);
  write_ = std::move(parsed.write);
  if (request_->has_media()) {
    context_.to_media_workers([self = shared_from_this()] { self->work(&DecisionTask::prepare); });
  } else {
    media_lease_.reset();
    prepare();
  }
}

void DecisionTask::prepare() {
  if (is_cancelled()) return;
  engine::DecisionModel& model = *context_.model.model;
  const auto start = engine::Clock::now();
  const Stage stage = request_->has_media() ? Stage::kMedia : Stage::kTokenize;
  engine::PreparedRequest prepared = model.preparer().prepare(request_);
  request_->images.clear();  // the files' memory does not wait in the queue
  request_->videos.clear();
  request_.reset();
  media_lease_.reset();
  work_[stage] = engine::Clock::now() - start;
  work_.questions = prepared.tails.size();
  work_.input_tokens = prepared.total_tokens();
  const uint64_t id = model.engine().submit(
      std::move(prepared), deadline_, [self = shared_from_this()](engine::Outcome outcome) {
        self->context_.to_io([self, shared = std::make_shared<engine::Outcome>(std::move(outcome))] {
          self->on_outcome(std::move(*shared));
        });
      });
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    engine_id_ = id;
    cancelled = cancelled_;
  }
  if (cancelled) model.engine().cancel(id);
}

void DecisionTask::on_outcome(engine::Outcome outcome) {
  if (!on_reply_) return;
  work_[Stage::kQueue] = outcome.timing.queue;
  work_[Stage::kForward] = outcome.timing.forward;
  try {
    if (outcome.error) std::rethrow_exception(outcome.error);
    on_reply_({.status = 200,
               .body = write_(outcome.answers, {.request_id = context_.request_id,
                                                .created = unix_seconds(),
                                                .input_tokens = work_.input_tokens}),
               .work = work_});
  } catch (const Error& error) {
    on_error_(error);
  } catch (const std::exception& error) {
    on_error_(Error(ErrorCode::kInternal, error.what()));
  }
}

void DecisionTask::fail(ErrorCode code, std::string message, std::string field) {
  context_.to_io([self = shared_from_this(), code, message = std::move(message), field = std::move(field)] {
    if (self->on_error_) self->on_error_(Error(code, message, field));
  });
}

}  // namespace d3::server
