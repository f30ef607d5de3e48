// server/cors.h: which web pages may ask from a browser (https://fetch.spec.whatwg.org/#http-cors-protocol).
#pragma once

#include <string>
#include <vector>

#include "server/http.h"

namespace d3::server {

class Cors {
 public:
  /// Origins as browsers send them ("https://example.com"), or "*" for all; none: no page may.
  explicit Cors(std::vector<std::string> origins);

  /// Whether this asks if a request may be sent, for a page that may.
  bool is_preflight(const RequestHead& head) const;
  /// The answer to it: `methods` and whatever headers were asked for.
  Reply allow(const RequestHead& head, std::string methods) const;
  /// Adds what lets the page read a reply, if it may.
  void add_headers(const RequestHead& head, Reply& reply) const;

 private:
  bool is_allowed(const std::string& origin) const;

  const std::vector<std::string> origins_;
  const bool all_;
};

}  // namespace d3::server
