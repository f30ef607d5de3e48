#include "server/service.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "api/models.h"
#include "api/multipart.h"
#include "server/decision_task.h"

namespace d3::server {
Service::Service(const ServerOptions& options, Readiness& readiness, boost::asio::io_context& io,
                 boost::asio::thread_pool& workers, std::shared_ptr<spdlog::logger> log)
    : options_(options),
      readiness_(readiness),
      io_(io),
      workers_(workers),
      log_(std::move(log)),
      keys_(options.api_keys),
      body_budget_(options.max_pending_body_bytes) {}

std::string Service::request_id(std::string_view sent) {
  return is_usable_request_id(sent) ? std::string(sent) : ids_.next();
}

Admitted Service::check(const RequestHead& head) const {
  const Route* route = find_route(head.path);
  const bool guarded = route != nullptr ? route->guarded : head.path.starts_with("/v1/");
  if (guarded && !keys_.allows(head.authorization))
    throw Error(ErrorCode::kUnauthenticated, "a valid API key is needed: send `Authorization: Bearer KEY`");
  if (route == nullptr) throw Error(ErrorCode::kNotFound, "there is nothing at this path");
  if (!is_allowed(*route, head.method))
    throw Error(ErrorCode::kMethodNotAllowed,
                fmt::format("{} takes {}", route->path, allowed_methods(*route)));
  if (!route->asks) return {.route = route, .model = nullptr};
  ServingModel& model = readiness_.model();
  const bool takes_form = route->endpoint == Endpoint::kSystemOne;
  if (!is_json(head.content_type) && !(takes_form && api::is_multipart(head.content_type)))
    throw Error(ErrorCode::kUnsupportedMediaType,
                fmt::format("the body must be sent as content-type application/json{}",
                            takes_form ? " or multipart/form-data" : ""));
  if (!head.content_encoding.empty() && head.content_encoding != "identity")
    throw Error(ErrorCode::kUnsupportedMediaType, "content-encoding must be absent or identity");
  return {.route = route, .model = &model};
}

std::shared_ptr<Pending> Service::answer(const Admitted& admitted, const RequestHead& head, Body body,
                                         OnReply on_reply) {
  if (admitted.model == nullptr) {
    Reply reply;
    try {
      reply = tell(admitted.route->endpoint);
    } catch (const Error& error) {
      reply = refuse(head, error);
    }
    on_reply(std::move(reply));
    return nullptr;
  }
  auto task = std::make_shared<DecisionTask>(
      DecisionTask::Context{.endpoint = admitted.route->endpoint,
                            .request_id = head.request_id,
                            .content_type = head.content_type,
                            .model = *admitted.model,
                            .io = io_,
                            .workers = workers_,
                            .timeout = options_.request_timeout},
      on_reply, [this, head, on_reply](const Error& error) { on_reply(refuse(head, error)); });
  task->start(std::move(body));
  return task;
}

Reply Service::refuse(const RequestHead& head, const Error& error) {
  Reply reply = error_reply(error);
  if (reply.status >= 500 && error.code() != ErrorCode::kUnavailable)
    log_->error("{} {}: {}", head.request_id, error_code_name(error.code()), error.what());
  if (error.code() == ErrorCode::kMethodNotAllowed) reply.allow = allowed_methods(*find_route(head.path));
  if (error.code() == ErrorCode::kOverloaded || error.code() == ErrorCode::kUnavailable)
    reply.retry_after = retry_after();
  return reply;
}

std::chrono::seconds Service::retry_after() {
  std::chrono::duration<double> wait{1};
  try {
    wait = readiness_.model().model->engine().queue_time();
  } catch (const Error&) {  // loading or draining: nobody knows
  }
  return std::clamp(std::chrono::ceil<std::chrono::seconds>(wait), std::chrono::seconds(1),
                    std::chrono::seconds(60));
}

Reply Service::tell(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kVersion:
      return {.body = api::write_version(options_.version)};
    case Endpoint::kModels:
      return {.body = api::write_models(readiness_.model().served)};
    case Endpoint::kHealth:
      readiness_.model();
      return {.body = api::write_health()};
    case Endpoint::kSystemOne:
    case Endpoint::kDecisions:
      break;
  }
  throw Error(ErrorCode::kInternal, "this endpoint is answered by the model");
}

}  // namespace d3::server
