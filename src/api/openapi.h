// api/openapi.h: GET /openapi.json.
#pragma once

#include <string>
#include <string_view>

#include "api/api.h"

namespace d3::api {

/// The OpenAPI 3.1 description (api/openapi.json, which is compiled in) of a server with this model: the
/// names that `model` may have, and media only where the model takes them. wants_key: whether requests under
/// /v1/ need one.
std::string write_openapi(const ServedModel& model, std::string_view version, bool wants_key);

}  // namespace d3::api
