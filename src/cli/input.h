// cli/input.h: reading what a command is given.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

namespace d3::cli {

/// The rest of a stream; `name` is named in errors. Throws Error(kInvalidArgument).
std::string read_all(std::FILE* file, const std::string& name);

/// A file's bytes. Throws Error(kNotFound) when it cannot be opened.
std::string read_file(const std::string& path);

/// Calls `take` for each line of a stream, without its line feed.
void for_each_line(std::FILE* file, const std::function<void(const std::string&)>& take);

}  // namespace d3::cli
