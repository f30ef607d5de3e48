// server/routes.h: which paths there are and what may be done with them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace d3::server {

enum class Endpoint {
  kSystemOne,
  kDecisions,
  kHealth,
  kLive,
  kMetrics,
  kModels,
  kOpenApi,
  kVersion,
  kPlayground
};

struct Route {
  std::string_view path;
  Endpoint endpoint;
  bool asks;     ///< POST with a JSON body to the model; otherwise GET and HEAD
  bool guarded;  ///< needs a key where keys are set
};

/// All of them but the playground's.
std::span<const Route> routes();

/// The route of a path, or nullptr. All paths of the playground have one route, `/`, whether or not there is
/// a file.
const Route* find_route(std::string_view path);

/// The header `allow` of a route.
std::string allowed_methods(const Route& route);
bool is_allowed(const Route& route, std::string_view method);

/// The path of a request target: without `http://host`, query and fragment.
std::string_view path_of(std::string_view target);

/// Whether a header `content-type` is application/json, with any parameters.
bool is_json(std::string_view content_type);

}  // namespace d3::server
