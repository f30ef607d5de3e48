// What must hold whatever the input is.
#pragma once

#include <cstdlib>

namespace d3::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace d3::fuzz
