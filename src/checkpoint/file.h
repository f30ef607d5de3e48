// checkpoint/file.h: the files of a checkpoint directory, opened and mapped, and the errors that name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace d3::checkpoint {

/// Error(kBadCheckpoint) "PATH: MESSAGE" whose field is the path.
Error bad_file(const std::filesystem::path& path, const std::string& message);

/// Error(code) "PATH: SUBJECT MESSAGE" whose field is the subject: a key, a tensor.
Error bad_item(ErrorCode code, const std::filesystem::path& path, const std::string& subject,
               const std::string& message);

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
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// The text of a file of at most `limit` bytes, read whole. Throws Error(kBadCheckpoint).
std::string read_text_file(const std::filesystem::path& path, uint64_t limit);

}  // namespace d3::checkpoint
