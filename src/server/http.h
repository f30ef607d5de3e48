// server/http.h: a request and its reply as the routes see them, free of sockets.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace d3::server {

/// What is known when the headers have been read. A header that was not sent is empty; of a repeated one the
/// first counts.
struct RequestHead {
  std::string method;  ///< "POST"
  std::string target;  ///< as sent
  std::string path;    ///< of the target, without scheme, host, query and fragment
  int version = 11;    ///< 10 or 11
  bool keep_alive = false;
  bool chunked = false;
  std::optional<uint64_t> content_length;
  size_t hosts = 0;  ///< how many headers `host`
  std::string content_type;
  std::string content_encoding;
  std::string accept_encoding;
  std::string if_none_match;
  std::string transfer_encoding;
  std::string expect;
  std::string authorization;
  std::string origin;
  std::string requested_method;   ///< access-control-request-method
  std::string requested_headers;  ///< access-control-request-headers
  std::string sent_request_id;    ///< x-request-id
  std::string request_id;         ///< the client's own or one of ours, see server/request_id.h

  bool has_body() const { return chunked || content_length.value_or(0) > 0; }
};

/// Where a request's time goes, in order.
enum class Stage { kParse, kTokenize, kMedia, kQueue, kForward };
inline constexpr std::array<std::string_view, 5> kStageNames{"parse", "tokenize", "media", "queue",
                                                             "forward"};

/// What a request asked of the model, for header server-timing, log and metrics.
struct Work {
  size_t questions = 0;
  int64_t input_tokens = 0;
  std::array<std::optional<std::chrono::duration<double>>, kStageNames.size()> stages = {};

  std::optional<std::chrono::duration<double>>& operator[](Stage stage) {
    return stages[static_cast<size_t>(stage)];
  }
};

struct Reply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string_view, std::string>> headers = {};  ///< names are literals, in lower case
  std::optional<Work> work = std::nullopt;
};

/// The reply to an error: api's body, and what only the log may say stays out of it.
Reply error_reply(const Error& error);

/// "OK" for 200, ..; "" for a status this server does not send.
std::string_view reason_phrase(int status);

}  // namespace d3::server
