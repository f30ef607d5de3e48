// checkpoint/messages.h: the errors of this room. Each is one line that names the file and what in it is at
// fault.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "json/value.h"

namespace d3::checkpoint {

/// Error(kBadCheckpoint) "PATH: MESSAGE" whose field is the path.
Error bad_file(const std::filesystem::path& path, const std::string& message);

/// Error(code) "PATH: KEY MESSAGE" whose field is the key.
Error bad_key(ErrorCode code, const std::filesystem::path& path, const std::string& key,
              const std::string& message);

/// Error(kBadCheckpoint) "PATH: tensor "NAME" MESSAGE" whose field is the tensor's name.
Error bad_tensor(const std::filesystem::path& path, std::string_view name, const std::string& message);

/// A value as JSON text for a message, cut at about 60 bytes.
std::string shown(const json::Value& value);

/// A name found in a file, in quotes and escaped, cut at about 200 bytes: messages stay one line.
std::string in_quotes(std::string_view name);

}  // namespace d3::checkpoint
