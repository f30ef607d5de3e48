// hub/connection.h: requests to the hub and to the hosts it redirects to.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "hub/response.h"
#include "hub/retry.h"
#include "hub/settings.h"
#include "net/curl.h"

namespace d3::hub {

struct Request {
  struct Range {
    uint64_t first = 0;
    uint64_t last = 0;  ///< included
  };
  std::string url;
  bool head = false;
  std::optional<Range> range = {};
};

struct Answer {
  long status = 0;
  std::string host;           ///< that gave it
  bool from_endpoint = true;  ///< the host is the endpoint itself
  Headers headers;            ///< of the last answer
  Headers endpoint_headers;   ///< of the endpoint's last answer: x-linked-etag, x-error-code, ..
};

/// One connection at a time, kept for later requests; used by one thread at a time. Redirects are followed,
/// at most ten; the token goes to the endpoint's own scheme, host and port and nowhere else, and no redirect
/// leads from https to http.
class Connection {
 public:
  /// A piece of the body of a 200 or 206 answer, in order; the answer's headers are complete. What it throws
  /// ends the request and comes out of send().
  using Sink = std::function<void(const Answer& answer, std::span<const std::byte> piece)>;

  Connection(const Settings& settings, std::optional<std::string> token, const Stop& stop);

  /// Returns the answer whatever its status; check_status() judges it. Throws TransientError when there was
  /// no whole answer, Error(kUnavailable) when another try would not help, Stopped.
  Answer send(const Request& request, const Sink& sink);

  /// The whole body of a good answer, at most `limit` bytes. Throws what send() and check_status() throw.
  std::string get_text(const std::string& url, size_t limit, const std::string& repo,
                       const std::string& revision);

 private:
  struct Transfer;
  void configure(Transfer& transfer, const Request& request, const net::Url& url);
  [[noreturn]] void fail(int code, const Transfer& transfer) const;

  const Settings& settings_;
  std::optional<std::string> token_;
  const Stop& stop_;
  net::Url endpoint_;
  net::CurlLibrary library_;
  net::Handle handle_;
};

/// Nothing for 200 and 206. Throws TransientError for 408, 429 and 5xx and for whatever a storage host
/// refuses (its address may have expired); Error(kUnauthenticated) and Error(kNotFound) with what to do for
/// the hub's own refusals; Error(kUnavailable) for the rest.
void check_status(const Answer& answer, const Settings& settings, const std::string& repo,
                  const std::string& revision);

}  // namespace d3::hub
