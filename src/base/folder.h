// base/folder.h: a folder of files to read: a directory, or files that are part of the program.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace d3 {

/// A file inside the program. `bytes` live as long as the program and begin at a multiple of 64.
struct EmbeddedFile {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// Names the place its files are read from; reads nothing itself.
class Folder {
 public:
  Folder() = default;
  /// Whether there is such a directory shows when it is read. A path is a folder wherever one is expected.
  Folder(std::filesystem::path directory) : path_(std::move(directory)) {}
  /// `name` stands for the folder in messages.
  Folder(std::filesystem::path name, std::vector<EmbeddedFile> files)
      : path_(std::move(name)), files_(std::move(files)) {}

  /// Of the directory, or the name of a folder that is part of the program.
  const std::filesystem::path& path() const { return path_; }

  /// Whether it is part of the program: then find() has its files, and path() leads nowhere.
  bool embedded() const { return !files_.empty(); }
  const std::vector<EmbeddedFile>& files() const { return files_; }

  /// The bytes of an embedded file; none when there is no such file.
  std::optional<std::span<const std::byte>> find(std::string_view name) const {
    for (const EmbeddedFile& file : files_)
      if (file.name == name) return file.bytes;
    return std::nullopt;
  }

 private:
  std::filesystem::path path_;
  std::vector<EmbeddedFile> files_;
};

}  // namespace d3
