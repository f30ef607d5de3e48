// api/error_body.h: the one shape of every error answer and the one table from ErrorCode to HTTP status.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace d3::api {

/// 400 for kInvalidArgument, 401 for kUnauthenticated, .. (the comments of ErrorCode; kUnsupported is 400,
/// kBadCheckpoint and kInternal are 500, kCancelled, which nobody reads, is 499).
int http_status(ErrorCode code);

/// The `type` of an error's body: "BadRequestError", "NotFoundError", "AuthenticationError", ..
std::string_view error_type(ErrorCode code);

struct ErrorReply {
  int status = 500;
  std::string body;  ///< {"error":{"message":..,"type":..,"param":path or null,"code":status}}
};

/// The reply to an error. The server adds headers that an error needs (`allow`, `retry-after`).
ErrorReply make_error_reply(const Error& error);

/// The reply to an exception that is not ours: 500 with a fixed message; nothing of the exception's own text
/// leaves the process.
ErrorReply make_internal_error_reply();

}  // namespace d3::api
