// server/access_log.h: a line for every answer. Never a state, a question, a key or a query.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

#include "server/http.h"
#include "server/options.h"

namespace d3::server {

/// A method or path as the log shows it: of bounded length, nothing but visible ASCII without quotes and
/// backslashes.
std::string loggable(std::string_view text);

/// An answer that was written.
struct Exchange {
  const RequestHead& head;
  const Reply& reply;
  size_t body_bytes;  ///< of the request, without its framing
  size_t bytes_out;   ///< headers and body of the answer
  std::chrono::duration<double> taken;
};

/// The name of the logger whose messages are members of a JSON object, where the format is JSON.
inline constexpr const char* kAccessLogName = "access";

class AccessLog {
 public:
  /// Writes at level info to the sinks of `log`.
  AccessLog(const std::shared_ptr<spdlog::logger>& log, LogFormat format)
      : log_(log->clone(kAccessLogName)), format_(format) {}

  void add(const Exchange& exchange);

 private:
  std::shared_ptr<spdlog::logger> log_;
  const LogFormat format_;
};

}  // namespace d3::server
