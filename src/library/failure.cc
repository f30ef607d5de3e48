#include "library/failure.h"

#include <new>

#include "base/error.h"

namespace d3 {
namespace library {
namespace {

FailureCode failure_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kPayloadTooLarge:
    case ErrorCode::kHeaderTooLarge:
    case ErrorCode::kUnsupportedMediaType:
    case ErrorCode::kMethodNotAllowed:
      return FailureCode::kInvalidArgument;
    case ErrorCode::kNotFound:
      return FailureCode::kNotFound;
    case ErrorCode::kUnauthenticated:
      return FailureCode::kUnauthenticated;
    case ErrorCode::kOverloaded:
      return FailureCode::kOverloaded;
    case ErrorCode::kUnavailable:
    case ErrorCode::kCancelled:
      return FailureCode::kUnavailable;
    case ErrorCode::kRequestTimeout:
    case ErrorCode::kDeadlineExceeded:
      return FailureCode::kDeadlineExceeded;
    case ErrorCode::kBadCheckpoint:
      return FailureCode::kBadCheckpoint;
    case ErrorCode::kUnsupported:
      return FailureCode::kUnsupported;
    case ErrorCode::kInternal:
      return FailureCode::kInternal;
  }
  return FailureCode::kInternal;
}

}  // namespace

Failure failure_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return {failure_code_of(error.code()), error.what(), error.field()};
  } catch (const std::bad_alloc&) {
    return {FailureCode::kInternal, "there is not enough memory", {}};
  } catch (const std::exception& error) {
    return {FailureCode::kInternal, error.what(), {}};
  } catch (...) {
    return {FailureCode::kInternal, "an unknown fault", {}};
  }
}

}  // namespace library

std::string_view failure_code_name(FailureCode code) {
  switch (code) {
    case FailureCode::kInvalidArgument:
      return "invalid_argument";
    case FailureCode::kNotFound:
      return "not_found";
    case FailureCode::kUnauthenticated:
      return "unauthenticated";
    case FailureCode::kOverloaded:
      return "overloaded";
    case FailureCode::kUnavailable:
      return "unavailable";
    case FailureCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case FailureCode::kBadCheckpoint:
      return "bad_checkpoint";
    case FailureCode::kUnsupported:
      return "unsupported";
    case FailureCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace d3
