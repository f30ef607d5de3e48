#include "server/cors.h"

#include <algorithm>
#include <utility>

namespace d3::server {

Cors::Cors(std::vector<std::string> origins)
    : origins_(std::move(origins)),
      all_(std::find(origins_.begin(), origins_.end(), "*") != origins_.end()) {}

bool Cors::is_allowed(const std::string& origin) const {
  return !origin.empty() && (all_ || std::find(origins_.begin(), origins_.end(), origin) != origins_.end());
}

bool Cors::is_preflight(const RequestHead& head) const {
  return head.method == "OPTIONS" && !head.requested_method.empty() && is_allowed(head.origin);
}

Reply Cors::allow(const RequestHead& head, std::string methods) const {
  Reply reply{.status = 204, .body = {}};
  reply.headers.emplace_back("access-control-allow-methods", std::move(methods));
  if (!head.requested_headers.empty())
    reply.headers.emplace_back("access-control-allow-headers", head.requested_headers);
  reply.headers.emplace_back("access-control-max-age", "3600");
  return reply;
}

void Cors::add_headers(const RequestHead& head, Reply& reply) const {
  if (origins_.empty()) return;
  if (!all_) reply.headers.emplace_back("vary", "origin");
  if (!is_allowed(head.origin)) return;
  reply.headers.emplace_back("access-control-allow-origin", all_ ? "*" : head.origin);
  reply.headers.emplace_back("access-control-expose-headers",
                             "x-request-id, x-typesafe-request-id, retry-after, server-timing");
}

}  // namespace d3::server
