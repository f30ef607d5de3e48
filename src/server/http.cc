#include "server/http.h"

#include <utility>

#include "api/error_body.h"

namespace d3::server {

Reply error_reply(const Error& error) {
  const bool ours = error.code() == ErrorCode::kInternal || error.code() == ErrorCode::kBadCheckpoint;
  api::ErrorReply reply = ours ? api::make_internal_error_reply() : api::make_error_reply(error);
  return {.status = reply.status, .body = std::move(reply.body)};
}

}  // namespace d3::server
