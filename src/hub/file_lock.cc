#include "hub/file_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"

namespace d3::hub {
namespace {

constexpr int kMode = 0664;  // as huggingface_hub makes them: a group may share a cache

Error bad_lock(const std::filesystem::path& path) {
  return {ErrorCode::kUnavailable, fmt::format("cannot lock {}: {}", path.string(), std::strerror(errno)),
          path.string()};
}

/// Whether the path still leads to the open file: who removed it meanwhile holds nothing any more.
bool is_same_file(int fd, const std::filesystem::path& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

checkpoint::FileDescriptor open_file(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  checkpoint::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
  if (file.get() < 0) throw bad_lock(path);
  return file;
}

}  // namespace

std::optional<FileLock> FileLock::try_lock(const std::filesystem::path& path) {
  for (;;) {
    checkpoint::FileDescriptor file = open_file(path);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK || errno == EACCES) return std::nullopt;
      throw bad_lock(path);
    }
    if (is_same_file(file.get(), path)) return FileLock(std::move(file));
  }
}

FileLock::FileLock(const std::filesystem::path& path, const std::function<void()>& waiting) : file_(-1) {
  for (;;) {
    if (auto lock = try_lock(path)) {
      file_ = std::move(lock->file_);
      return;
    }
    waiting();
  }
}

}  // namespace d3::hub
