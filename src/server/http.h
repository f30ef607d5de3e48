// server/http.h: a request and its reply as the routes see them, free of sockets.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/error.h"

namespace d3::server {

/// What is known when the headers have been read.
struct RequestHead {
  std::string method;            ///< "POST"
  std::string path;              ///< without scheme, host, query and fragment
  std::string content_type;      ///< as sent, empty when there is none
  std::string content_encoding;  ///< as sent, empty when there is none
  std::string authorization;     ///< as sent, empty when there is none
  std::string request_id;        ///< the client's own or one of ours, see server/request_id.h
};

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::string allow = {};                                          ///< header `allow`, 405 only
  std::optional<std::chrono::seconds> retry_after = std::nullopt;  ///< header `retry-after`
};

/// The reply to an error: api's body, and what only the log may say stays out of it.
Reply error_reply(const Error& error);

}  // namespace d3::server
