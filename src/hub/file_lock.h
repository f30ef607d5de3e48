// hub/file_lock.h: a lock between processes, as Python's filelock takes it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "checkpoint/file.h"

namespace d3::hub {

/// Held from construction to destruction: an exclusive flock(2) on a file that is made when it is missing and
/// stays when the lock is given back. Python's huggingface_hub waits for it and is waited for.
class FileLock {
 public:
  /// Calls `waiting`, which waits a moment or throws, again and again while there is another holder. Throws
  /// Error(kUnavailable) when the file cannot be made or locked.
  FileLock(const std::filesystem::path& path, const std::function<void()>& waiting);

  /// The lock when nobody holds it.
  static std::optional<FileLock> try_lock(const std::filesystem::path& path);

 private:
  explicit FileLock(checkpoint::FileDescriptor file) : file_(std::move(file)) {}

  checkpoint::FileDescriptor file_;
};

}  // namespace d3::hub
