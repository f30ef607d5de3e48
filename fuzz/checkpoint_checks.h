// What a refusal of a checkpoint's file must be.
#pragma once

#include <cstdlib>
#include <string_view>

#include "base/error.h"

namespace d3::fuzz {

/// One line, of bounded length, with the code of a bad or unsupported checkpoint, and naming the file.
inline void check_refusal(const Error& error, std::string_view file = "f") {
  const std::string_view what = error.what();
  const bool expected = error.code() == ErrorCode::kBadCheckpoint || error.code() == ErrorCode::kUnsupported;
  if (!expected || !what.starts_with(file) || !what.substr(file.size()).starts_with(": ") ||
      what.size() > 2000 || what.find('\n') != std::string_view::npos)
    std::abort();
}

}  // namespace d3::fuzz
