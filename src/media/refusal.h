// media/refusal.h: how this room says no. Reasons are written without the item they are about; read_image,
// read_video and fetching put its field (`images[0]`) in front.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "decision/refuse.h"

namespace d3::media {

[[noreturn]] inline void refuse(const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument, reason);
}

/// Refuses `what` ("image") of more bytes than allowed.
inline void check_byte_count(const std::string& what, size_t bytes, size_t allowed) {
  if (bytes > allowed)
    refuse("the " + what + "'s " + std::to_string(bytes) + " bytes are more than the " +
           std::to_string(allowed) + " allowed");
}

/// "640 x 480 pixels".
inline std::string size_text(int64_t width, int64_t height) {
  return std::to_string(width) + " x " + std::to_string(height) + " pixels";
}

/// Runs `work`; a refusal without a field becomes one of `field`.
template <typename Work>
auto naming(std::string_view field, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument || !error.field().empty()) throw;
    decision::refuse(std::string(field), error.what());
  }
}

}  // namespace d3::media
