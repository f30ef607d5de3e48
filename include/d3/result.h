// d3/result.h: a value, or why there is none. Nothing in this library throws (but std::bad_alloc, should
// memory end while arguments and results are copied): a failure is a value like any other.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "d3/export.h"

namespace d3 {

/// What went wrong.
enum class FailureCode {
  kInvalidArgument,   ///< what was given breaks a rule; `field` says which part of it
  kNotFound,          ///< no such directory, file, model or revision
  kUnauthenticated,   ///< a private or gated model, and no token that opens it
  kOverloaded,        ///< the queue is full: try again later
  kUnavailable,       ///< no network, no space, or the model is going away
  kDeadlineExceeded,  ///< the request's timeout has passed
  kBadCheckpoint,     ///< a checkpoint's file is missing, damaged or not understood
  kUnsupported,       ///< valid, but this model, build or machine cannot do it
  kInternal,          ///< a fault of this library, or no memory
};

/// "invalid_argument" for kInvalidArgument, and so on.
D3_API std::string_view failure_code_name(FailureCode code);

/// Why there is no value.
struct Failure {
  FailureCode code = FailureCode::kInternal;
  std::string message;  ///< one line for people; it names the field where there is one
  std::string field;    ///< the part at fault: "questions.kind.criteria", "images[0]", a file; may be empty
};

/// A T, or a Failure. To take the one that is not there is a mistake of the program and aborts it.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & { return get<0>(state_); }
  const T& value() const& { return get<0>(state_); }
  T&& value() && { return std::move(get<0>(state_)); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Failure& failure() const& { return get<1>(state_); }
  Failure&& failure() && { return std::move(get<1>(state_)); }

 private:
  template <std::size_t kIndex, typename State>
  static auto& get(State& state) {
    auto* const part = std::get_if<kIndex>(&state);
    if (part == nullptr) std::abort();
    return *part;
  }

  std::variant<T, Failure> state_;
};

}  // namespace d3
