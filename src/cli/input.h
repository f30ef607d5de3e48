// cli/input.h: reading what a command is given.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace d3::cli {

/// The rest of a stream; `name` is named in errors. Throws Error(kInvalidArgument).
std::string read_all(std::FILE* file, const std::string& name);

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// A file to read. Throws Error(kNotFound) when it cannot be opened.
File open_file(const std::string& path);

/// Replaces `piece` by a stream's next bytes; false at the end. `name` is named in errors. Throws
/// Error(kInvalidArgument).
bool read_piece(std::FILE* file, const std::string& name, std::string& piece);

/// A file's bytes. Throws Error(kNotFound) when it cannot be opened.
std::string read_file(const std::string& path);

/// Calls `take` for each line of a stream, without its line feed.
void for_each_line(std::FILE* file, const std::function<void(const std::string&)>& take);

}  // namespace d3::cli
