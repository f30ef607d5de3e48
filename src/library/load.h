// library/load.h: the C++ API's options as the program's.
#pragma once

#include <filesystem>
#include <string>

#include "d3/model.h"
#include "engine/load.h"

namespace d3::library {

/// The checkpoint's directory: `model` where there is such a path, else that of the model in the hub's cache,
/// pulled when the cache lacks it. Throws Error.
std::filesystem::path find_checkpoint(const std::string& model, const HubOptions& options);

/// Throws Error(kInvalidArgument) naming the option that has an impossible value.
engine::LoadOptions engine_options(const std::filesystem::path& directory, const LoadOptions& options);

}  // namespace d3::library
