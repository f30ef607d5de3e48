#include "api/models.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/error.h"
#include "decision/refuse.h"
#include "json/write.h"

namespace d3::api {
namespace {

/// "2026-12-02" in UTC.
std::string date_of(int64_t unix_seconds) {
  const auto days =
      std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(unix_seconds)));
  const std::chrono::year_month_day date(days);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

void append_openai_entry(std::string& out, const std::string& name, const ServedModel& model) {
  out += R"({"id":)";
  json::append_untrusted_string(out, name);
  out += R"(,"object":"model","created":)";
  json::append_integer(out, model.created);
  out += R"(,"owned_by":"d3","max_model_len":)";
  if (model.max_model_len)
    json::append_integer(out, *model.max_model_len);
  else
    out += "null";
  out += '}';
}

void append_typesafe_entry(std::string& out, const std::string& name, const ServedModel& model) {
  out += R"({"name":)";
  json::append_untrusted_string(out, name);
  out += R"(,"description":)";
  json::append_untrusted_string(out, model.description);
  out += R"(,"release_date":)";
  json::append_string(out, date_of(model.created));
  out += '}';
}

void refuse_media(std::string field) {
  std::string message = field + ": this server takes no " + field;
  throw Error(ErrorCode::kUnsupported, std::move(message), std::move(field));
}

}  // namespace

void check_served(const decision::Request& request, const ServedModel& model) {
  if (!request.model.empty() && std::ranges::find(model.names, request.model) == model.names.end()) {
    throw Error(ErrorCode::kNotFound,
                fmt::format("model: `{}` is not served here; served are: {}", decision::shown(request.model),
                            fmt::join(model.names, ", ")),
                "model");
  }
  if (model.takes_media) return;
  if (!request.images.empty()) refuse_media("images");
  if (!request.videos.empty()) refuse_media("videos");
}

const std::string& answering_name(const decision::Request& request, const ServedModel& model) {
  return request.model.empty() ? model.names.front() : request.model;
}

std::string write_models(const ServedModel& model) {
  std::string out = R"({"object":"list","data":[)";
  for (size_t i = 0; i < model.names.size(); ++i) {
    if (i > 0) out += ',';
    append_openai_entry(out, model.names[i], model);
  }
  out += R"(],"models":[)";
  for (size_t i = 0; i < model.names.size(); ++i) {
    if (i > 0) out += ',';
    append_typesafe_entry(out, model.names[i], model);
  }
  out += "]}";
  return out;
}

std::string write_version(std::string_view version) {
  std::string out = R"({"version":)";
  json::append_string(out, version);
  out += '}';
  return out;
}

std::string write_health() { return R"({"status":"ok"})"; }

}  // namespace d3::api
