#include "server/service.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "api/models.h"
#include "api/multipart.h"
#include "api/openapi.h"
#include "server/content_coding.h"
#include "server/decision_task.h"

namespace d3::server {
namespace {

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// `parse;dur=0.12, .., total;dur=3.4`: https://www.w3.org/TR/server-timing/, in milliseconds.
std::string server_timing(const Work& work) {
  std::string text;
  for (size_t i = 0; i < kStageNames.size(); ++i)
    if (work.stages[i])
      text += fmt::format("{}{};dur={:.3f}", text.empty() ? "" : ", ", kStageNames[i],
                          work.stages[i]->count() * 1e3);
  return text;
}

}  // namespace

Service::Service(const ServerOptions& options, Readiness& readiness, ServerMetrics& metrics, Post to_io,
                 Post to_workers, Post to_media_workers, std::shared_ptr<spdlog::logger> log)
    : options_(options),
      readiness_(readiness),
      metrics_(metrics),
      to_io_(std::move(to_io)),
      to_workers_(std::move(to_workers)),
      to_media_workers_(std::move(to_media_workers)),
      log_(std::move(log)),
      access_log_(log_, options.log_format),
      keys_(options.api_keys),
      cors_(options.cors_origins),
      playground_(options.playground ? std::make_optional<Playground>() : std::nullopt),
      body_budget_(options.max_pending_body_bytes) {}

std::string Service::request_id(std::string_view sent) {
  return is_usable_request_id(sent) ? std::string(sent) : ids_.next();
}

const Route* Service::route_of(const RequestHead& head) const {
  const Route* route = find_route(head.path);
  return route != nullptr && route->endpoint == Endpoint::kPlayground && !playground_ ? nullptr : route;
}

Admitted Service::check(const RequestHead& head) const {
  const Route* route = route_of(head);
  if (route != nullptr && cors_.is_preflight(head)) return {.route = nullptr, .model = nullptr};
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
  if (!is_plain(head.content_encoding) && !is_known_coding(head.content_encoding))
    throw Error(ErrorCode::kUnsupportedMediaType,
                fmt::format("content-encoding may be absent or one of: {}", kAcceptedCodings));
  model.model->engine().check_room();
  return {.route = route, .model = &model};
}

std::shared_ptr<Pending> Service::answer(const Admitted& admitted, const RequestHead& head, Body body,
                                         OnReply on_reply) {
  if (admitted.model == nullptr) {
    Reply reply;
    try {
      reply = admitted.route == nullptr ? cors_.allow(head, allowed_methods(*find_route(head.path)))
                                        : tell(admitted.route->endpoint, head);
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
                            .content_encoding = head.content_encoding,
                            .max_body = options_.max_body,
                            .model = *admitted.model,
                            .to_io = to_io_,
                            .to_workers = to_workers_,
                            .to_media_workers = to_media_workers_,
                            .timeout = options_.request_timeout},
      on_reply, [this, head, on_reply](const Error& error) { on_reply(refuse(head, error)); });
  task->start(std::move(body));
  return task;
}

Reply Service::refuse(const RequestHead& head, const Error& error) {
  Reply reply = error_reply(error);
  if (reply.status >= 500 && error.code() != ErrorCode::kUnavailable)
    log_->error(fmt::format("{} {}: {}", head.request_id, error_code_name(error.code()), error.what()));
  switch (error.code()) {
    case ErrorCode::kMethodNotAllowed:
      reply.headers.emplace_back("allow", allowed_methods(*find_route(head.path)));
      break;
    case ErrorCode::kUnsupportedMediaType:
      reply.headers.emplace_back("accept-encoding", kAcceptedCodings);
      break;
    case ErrorCode::kUnauthenticated:
      reply.headers.emplace_back("www-authenticate", "Bearer");
      break;
    case ErrorCode::kOverloaded:
    case ErrorCode::kUnavailable:
      reply.headers.emplace_back("retry-after", std::to_string(retry_after().count()));
      break;
    default:
      break;
  }
  return reply;
}

void Service::add_headers(const RequestHead& head, Reply& reply) const {
  reply.headers.emplace_back("x-request-id", head.request_id);
  reply.headers.emplace_back("x-typesafe-request-id", head.request_id);
  if (reply.work) reply.headers.emplace_back("server-timing", server_timing(*reply.work));
  cors_.add_headers(head, reply);
}

const std::string& Service::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_time_) {
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
    date_time_ = now;
  }
  return date_;
}

void Service::record(const Exchange& exchange) {
  const Route* route = route_of(exchange.head);
  metrics_.bytes_out.add(exchange.bytes_out);
  metrics_.add_answer(route == nullptr ? "" : route->path, exchange.reply, exchange.taken);
  access_log_.add(exchange);
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

Reply Service::tell(Endpoint endpoint, const RequestHead& head) {
  switch (endpoint) {
    case Endpoint::kVersion:
      return {.body = api::write_version(options_.version)};
    case Endpoint::kModels:
      return {.body = api::write_models(readiness_.model().served)};
    case Endpoint::kOpenApi:
      return {.body = api::write_openapi(readiness_.model().served, options_.version,
                                         !options_.api_keys.empty())};
    case Endpoint::kHealth:
      readiness_.model();
      return {.body = api::write_health()};
    case Endpoint::kLive:
      return {.body = api::write_health()};
    case Endpoint::kMetrics:
      return {.body = metrics_.text(), .content_type = std::string(kMetricsType)};
    case Endpoint::kPlayground:
      return playground_->serve(head);
    case Endpoint::kSystemOne:
    case Endpoint::kDecisions:
      break;
  }
  throw Error(ErrorCode::kInternal, "this endpoint is answered by the model");
}

}  // namespace d3::server
