// demo/demo.h: the demonstration model that is part of the program (models/demo).
#pragma once

#include <string_view>

#include "base/folder.h"

namespace d3::demo {

/// What it is called where a model is named. A directory of that name is ./demo.
inline constexpr std::string_view kName = "demo";

/// What it is, in one line for people.
inline constexpr std::string_view kDescription =
    "a small model for demonstrations, part of d3; the real ones are d3, d3-flash, d3-mini, d3-nano, d3-lite "
    "and d3-edge";

/// Its checkpoint.
Folder folder();

}  // namespace d3::demo
