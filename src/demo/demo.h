// demo/demo.h: the demonstration model that is part of the program (models/demo).
#pragma once

#include <string_view>

#include "base/folder.h"

namespace d3::demo {

/// What it is called where a model is named. A directory of that name is ./demo.
inline constexpr std::string_view kName = "demo";

/// Its checkpoint.
Folder folder();

}  // namespace d3::demo
