// base/error.h: the one error type of the whole program.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace d3 {

/// What went wrong, independent of any protocol. server/ maps each code to an HTTP status in one table.
enum class ErrorCode {
  kInvalidArgument,       ///< the caller's value breaks a rule of the contract (HTTP 400)
  kUnauthenticated,       ///< no valid key (401)
  kNotFound,              ///< unknown model, path or file asked for by the caller (404)
  kMethodNotAllowed,      ///< (405)
  kRequestTimeout,        ///< the client stalled (408)
  kPayloadTooLarge,       ///< (413)
  kHeaderTooLarge,        ///< (431)
  kUnsupportedMediaType,  ///< (415)
  kOverloaded,            ///< the queue is full (429)
  kUnavailable,           ///< loading or draining (503)
  kDeadlineExceeded,      ///< the request waited longer than it may (504)
  kCancelled,             ///< the client went away; never written to a wire
  kBadCheckpoint,         ///< a checkpoint's file is missing, damaged or not understood
  kUnsupported,           ///< valid, but this build or machine cannot do it
  kInternal,              ///< a fault of ours (500)
};

/// The field's name of a code, for logs and tests: "invalid_argument".
std::string_view error_code_name(ErrorCode code);

/// Thrown by every room. `field` is the path of the input at fault (`questions.route.criteria`, a file, a
/// tensor), empty when there is none. what() is one line that a user can act on; it names the field where
/// there is one.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, std::string field = {})
      : std::runtime_error(message), code_(code), field_(std::move(field)) {}

  ErrorCode code() const noexcept { return code_; }
  const std::string& field() const noexcept { return field_; }

 private:
  ErrorCode code_;
  std::string field_;
};

}  // namespace d3
