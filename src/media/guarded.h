// media/guarded.h: calls into C libraries that report errors by longjmp.
#pragma once

#include <csetjmp>

namespace d3::media {

/// Runs `calls`, which may longjmp to `jump`; false when they did. `calls` must make C calls and move plain
/// values only: a longjmp runs no destructor.
template <typename Calls>
bool guarded(std::jmp_buf& jump, Calls calls) {
  if (setjmp(jump) != 0) return false;
  calls();
  return true;
}

}  // namespace d3::media
