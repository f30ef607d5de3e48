// A compressed body (the first byte of the input: gzip or zstd). What comes out is within the limit and was
// announced before its memory was taken, or the body is refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "server/content_coding.h"

namespace {

constexpr size_t kLimit = 100'000;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace d3;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  size_t announced = 0;
  try {
    const std::string decoded = server::decode((data[0] & 1) != 0 ? "gzip" : "zstd", body, kLimit,
                                               [&](size_t bytes) { announced += bytes; });
    require(decoded.size() <= kLimit && decoded.size() <= announced && announced <= kLimit + 1);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kPayloadTooLarge);
    require(announced <= kLimit + 1);
  }
  return 0;
}
