// checkpoint/file.h: the files of a checkpoint, opened and mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/folder.h"

namespace d3::checkpoint {

/// Whether a name read from a file is a relative path that cannot leave the directory it is taken from: no
/// root, no
/// "..", no empty part, no control character. Links inside the directory may lead elsewhere; caches are made
/// of them.
bool stays_inside(std::string_view name);

/// An open file; closes it.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

/// Opens a regular file (or a link to one) for reading. Throws Error(kBadCheckpoint) when there is none, when
/// it is a directory or a device, or when it may not be read.
FileDescriptor open_regular_file(const std::filesystem::path& path);

/// A whole file in memory, read-only and shared with the page cache; pages are read when touched. Who
/// truncates the file while it is mapped makes the next access to the lost part end the process (SIGBUS).
/// An embedded file is in memory already.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(const Folder& folder, std::string_view name);
  MappedFile(MappedFile&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), mapped_(std::exchange(other.mapped_, false)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
  bool mapped_ = false;  ///< and to be unmapped
};

/// More than any JSON file of a checkpoint but tokenizer.json has.
inline constexpr uint64_t kMaxJsonBytes = uint64_t{64} << 20;

/// The text of a file of at most `limit` bytes, read whole. Throws Error(kBadCheckpoint).
std::string read_text_file(const std::filesystem::path& path, uint64_t limit);
std::string read_text_file(const Folder& folder, std::string_view name, uint64_t limit);

/// Whether the folder has something of that name, be it a link that leads nowhere.
bool has_file(const Folder& folder, std::string_view name);

/// Throws Error(kBadCheckpoint) unless the file can be opened for reading.
void require_file(const Folder& folder, std::string_view name);

}  // namespace d3::checkpoint
