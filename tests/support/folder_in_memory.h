// tests/support/folder_in_memory.h: a directory's files as a folder that is part of the program has them.
#pragma once

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <list>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/folder.h"
#include "support/file_content.h"

namespace d3::test {

/// Read once; the directory may go or change afterwards. The folder's name is the directory's path, so that
/// messages about either are the same.
class FolderInMemory {
 public:
  explicit FolderInMemory(const std::filesystem::path& directory) : path_(directory) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      File& file = files_.emplace_back();
      file.name = entry.path().filename();
      const std::string content = content_of(entry.path());
      file.size = content.size();
      file.bytes.reset(static_cast<std::byte*>(::operator new(content.size() + 1, kAlignment)));
      std::memcpy(file.bytes.get(), content.data(), content.size());
    }
  }

  /// Valid while this lives.
  Folder folder() const {
    std::vector<EmbeddedFile> files;
    for (const File& file : files_) files.push_back({file.name, {file.bytes.get(), file.size}});
    return {path_, std::move(files)};
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete(bytes, kAlignment); }
  };
  struct File {
    std::string name;
    std::unique_ptr<std::byte, Free> bytes;
    size_t size = 0;
  };

  std::filesystem::path path_;
  std::list<File> files_;
};

}  // namespace d3::test
