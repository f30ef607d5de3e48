#include "server/http.h"

#include <algorithm>
#include <utility>

#include "api/error_body.h"

namespace d3::server {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 16> kReasons{{
    {200, "OK"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
}};

}  // namespace

Reply error_reply(const Error& error) {
  const bool ours = error.code() == ErrorCode::kInternal || error.code() == ErrorCode::kBadCheckpoint;
  api::ErrorReply reply = ours ? api::make_internal_error_reply() : api::make_error_reply(error);
  return {.status = reply.status, .body = std::move(reply.body)};
}

std::string_view reason_phrase(int status) {
  const auto* found = std::find_if(kReasons.begin(), kReasons.end(),
                                   [&](const auto& reason) { return reason.first == status; });
  return found == kReasons.end() ? "" : found->second;
}

}  // namespace d3::server
