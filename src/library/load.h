// library/load.h: the C++ API's options as the program's.
#pragma once

#include <string>

#include "base/folder.h"
#include "d3/model.h"
#include "engine/load.h"

namespace d3::library {

/// The checkpoint's folder: the library's own for "demo", the directory `model` where there is such a path,
/// else that of the model in the hub's cache, pulled when the cache lacks it. Throws Error.
Folder find_checkpoint(const std::string& model, const HubOptions& options);

/// Throws Error(kInvalidArgument) naming the option that has an impossible value.
engine::LoadOptions engine_options(const Folder& folder, const LoadOptions& options);

}  // namespace d3::library
