#include "api/error_body.h"

#include <array>

#include "json/write.h"

namespace d3::api {
namespace {

struct Row {
  ErrorCode code;
  int status;
  std::string_view type;
};
// The types are vLLM's and OpenAI's names where those have one for the status.
constexpr std::array<Row, 15> kTable{{
    {ErrorCode::kInvalidArgument, 400, "BadRequestError"},
    {ErrorCode::kUnauthenticated, 401, "AuthenticationError"},
    {ErrorCode::kNotFound, 404, "NotFoundError"},
    {ErrorCode::kMethodNotAllowed, 405, "MethodNotAllowedError"},
    {ErrorCode::kRequestTimeout, 408, "RequestTimeoutError"},
    {ErrorCode::kPayloadTooLarge, 413, "PayloadTooLargeError"},
    {ErrorCode::kHeaderTooLarge, 431, "HeaderTooLargeError"},
    {ErrorCode::kUnsupportedMediaType, 415, "UnsupportedMediaTypeError"},
    {ErrorCode::kOverloaded, 429, "RateLimitError"},
    {ErrorCode::kUnavailable, 503, "ServiceUnavailableError"},
    {ErrorCode::kDeadlineExceeded, 504, "DeadlineExceededError"},
    {ErrorCode::kCancelled, 499, "CancelledError"},
    {ErrorCode::kBadCheckpoint, 500, "InternalServerError"},
    {ErrorCode::kUnsupported, 400, "BadRequestError"},
    {ErrorCode::kInternal, 500, "InternalServerError"},
}};

const Row& row_of(ErrorCode code) {
  for (const Row& row : kTable)
    if (row.code == code) return row;
  return kTable.back();
}

ErrorReply reply(const Row& row, std::string_view message, std::string_view param) {
  ErrorReply reply{row.status, R"({"error":{"message":)"};
  json::append_untrusted_string(reply.body, message);
  reply.body += R"(,"type":)";
  json::append_string(reply.body, row.type);
  reply.body += R"(,"param":)";
  if (param.empty())
    reply.body += "null";
  else
    json::append_untrusted_string(reply.body, param);
  reply.body += R"(,"code":)";
  json::append_integer(reply.body, row.status);
  reply.body += "}}";
  return reply;
}

}  // namespace

int http_status(ErrorCode code) { return row_of(code).status; }

std::string_view error_type(ErrorCode code) { return row_of(code).type; }

ErrorReply make_error_reply(const Error& error) {
  return reply(row_of(error.code()), error.what(), error.field());
}

ErrorReply make_internal_error_reply() { return reply(row_of(ErrorCode::kInternal), "internal error", ""); }

}  // namespace d3::api
