// hub/digest.h: whether a file is what its ETag says.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace d3::hub {

/// Whether an ETag is a digest of the content: SHA-256 (64 hexadecimal digits, large files) or git's SHA-1 of
/// "blob SIZE\0" and the content (40 digits, files kept in git itself).
bool is_digest(std::string_view etag);

/// The file's digest of the kind that the ETag is, in lower case; empty when the ETag is none. `on_read`
/// hears of the bytes of a large file as they are read. Throws Error(kBadCheckpoint) when the file cannot be
/// read.
std::string digest_like(std::string_view etag, const std::filesystem::path& file,
                        const std::function<void(size_t bytes)>& on_read = {});

}  // namespace d3::hub
