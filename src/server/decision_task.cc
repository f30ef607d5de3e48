#include "server/decision_task.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "api/decisions.h"
#include "api/systemone.h"

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
  boost::asio::post(context_.workers, [self = shared_from_this(), body = std::move(body)]() mutable {
    try {
      self->ask(std::move(body));
    } catch (const Error& error) {
      self->fail(error.code(), error.what(), error.field());
    } catch (const std::exception& error) {
      self->fail(ErrorCode::kInternal, error.what(), {});
    }
  });
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
    auto parsed = std::make_shared<const api::DecisionsRequest>(api::parse_decisions(body, served));
    return {.request = {parsed, &parsed->request},
            .write = [parsed, &served](auto answers, const auto& info) {
              return api::write_decisions(*parsed, answers, served, info);
            }};
  }
  auto request =
      std::make_shared<const decision::Request>(api::parse_systemone(body, served, context_.content_type));
  return {.request = request, .write = [request, &served](auto answers, const auto& info) {
            return api::write_systemone(*request, answers, served, info);
          }};
}

void DecisionTask::ask(Body body) {
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return;
  }
  engine::DecisionModel& model = *context_.model.model;
  Parsed parsed = parse(body.bytes);
  { const Body read = std::move(body); }  // its memory goes before the tokens come
  engine::PreparedRequest prepared = model.preparer().prepare(std::move(parsed.request));
  const int64_t input_tokens = prepared.total_tokens();
  const uint64_t id = model.engine().submit(
      std::move(prepared), deadline_,
      [self = shared_from_this(), write = std::move(parsed.write),
       input_tokens](engine::Outcome outcome) mutable {
        boost::asio::post(self->context_.io, [self, write = std::move(write), input_tokens,
                                              outcome = std::move(outcome)]() mutable {
          self->on_outcome(write, input_tokens, std::move(outcome));
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

void DecisionTask::on_outcome(const Write& write, int64_t input_tokens, engine::Outcome outcome) {
  if (!on_reply_) return;
  try {
    if (outcome.error) std::rethrow_exception(outcome.error);
    on_reply_({.status = 200,
               .body = write(outcome.answers, {.request_id = context_.request_id,
                                               .created = unix_seconds(),
                                               .input_tokens = input_tokens})});
  } catch (const Error& error) {
    on_error_(error);
  } catch (const std::exception& error) {
    on_error_(Error(ErrorCode::kInternal, error.what()));
  }
}

void DecisionTask::fail(ErrorCode code, std::string message, std::string field) {
  boost::asio::post(
      context_.io, [self = shared_from_this(), code, message = std::move(message), field = std::move(field)] {
        if (self->on_error_) self->on_error_(Error(code, message, field));
      });
}

}  // namespace d3::server
