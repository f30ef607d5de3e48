#include "server/routes.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "server/playground.h"

namespace d3::server {
namespace {

constexpr std::array<Route, 8> kRoutes{{
    {"/v1/systemone", Endpoint::kSystemOne, true, true},
    {"/v1/decisions", Endpoint::kDecisions, true, true},
    {"/v1/models", Endpoint::kModels, false, true},
    {"/health", Endpoint::kHealth, false, false},
    {"/live", Endpoint::kLive, false, false},
    {"/metrics", Endpoint::kMetrics, false, false},
    {"/openapi.json", Endpoint::kOpenApi, false, false},
    {"/version", Endpoint::kVersion, false, false},
}};
constexpr Route kPlayground{"/", Endpoint::kPlayground, false, false};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view path) {
  if (is_playground_path(path)) return &kPlayground;
  const auto* found =
      std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& route) { return route.path == path; });
  return found == kRoutes.end() ? nullptr : found;
}

std::string allowed_methods(const Route& route) { return route.asks ? "POST" : "GET, HEAD"; }

bool is_allowed(const Route& route, std::string_view method) {
  return route.asks ? method == "POST" : method == "GET" || method == "HEAD";
}

std::string_view path_of(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    const size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
    break;
  }
  return target.substr(0, target.find_first_of("?#"));
}

bool is_json(std::string_view content_type) {
  return equals_ignoring_case(trimmed(content_type.substr(0, content_type.find(';'))), "application/json");
}

}  // namespace d3::server
