// server/content_coding.h: compressed bodies.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace d3::server {

/// The codings of header `content-encoding` that are understood, as header `accept-encoding` lists them.
inline constexpr std::string_view kAcceptedCodings = "gzip, zstd";

/// Whether a header `content-encoding` names no coding (it is empty or `identity`), or one that decode knows.
bool is_plain(std::string_view content_encoding);
bool is_known_coding(std::string_view content_encoding);

/// A body of one of the known codings (gzip: RFC 1952, zstd: RFC 8878), decoded: any number of members or
/// frames, nothing after them, windows of at most 8 MiB (RFC 9659). At most `limit` bytes come out; at
/// the first one more: Error(kPayloadTooLarge). `grow` is told before the memory grows by so many bytes, and
/// may throw. Throws Error(kInvalidArgument) when the body is damaged or cut off.
std::string decode(std::string_view content_encoding, std::string_view body, size_t limit,
                   const std::function<void(size_t bytes)>& grow);

/// RFC 1952, without a time: the same bytes every time. Throws Error(kInternal).
std::string gzip(std::string_view text);

}  // namespace d3::server
