// media/data_url.h: data:image/png;base64,… → bytes.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace d3::media {

bool is_data_url(std::string_view url);

/// Decodes `data:<type>/<subtype>[;name=value…];base64,<base64>`: `type` is "image" or "video", scheme and
/// types in any case; base64 is RFC 4648's with its padding and nothing else (no white space, no URL-safe
/// alphabet, no percent escapes, unused bits zero). Throws Error(kInvalidArgument, reason) for anything else
/// and for more than `max_bytes` decoded bytes, before they are allocated.
std::vector<std::byte> decode_data_url(std::string_view url, std::string_view type, size_t max_bytes);

}  // namespace d3::media
