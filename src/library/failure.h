// library/failure.h: the program's exceptions as the values that the C++ API gives.
#pragma once

#include <exception>

#include "d3/result.h"

namespace d3::library {

/// The failure that an exception means: an Error's code, message and field; kInternal for all others.
Failure failure_of(const std::exception_ptr& exception);

/// What `make` gives, or why it threw.
template <typename T, typename Make>
Result<T> result_of(const Make& make) {
  try {
    return Result<T>(make());
  } catch (...) {
    return failure_of(std::current_exception());
  }
}

}  // namespace d3::library
