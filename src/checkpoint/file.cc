#include "checkpoint/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/messages.h"

namespace d3::checkpoint {
namespace {

uint64_t size_of(const FileDescriptor& file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw bad_file(path, std::strerror(errno));
  return static_cast<uint64_t>(status.st_size);
}

}  // namespace

bool stays_inside(std::string_view name) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (name.empty() || std::any_of(name.begin(), name.end(), is_control)) return false;
  const std::filesystem::path path(name);
  const auto leads_out = [](const std::filesystem::path& part) { return part.empty() || part == ".."; };
  return path.is_relative() && std::none_of(path.begin(), path.end(), leads_out);
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor open_regular_file(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT) throw bad_file(path, "file is missing");
    throw bad_file(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw bad_file(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw bad_file(path, "is not a regular file");
  return file;
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const FileDescriptor file = open_regular_file(path);
  const uint64_t size = size_of(file, path);
  if (size == 0) return;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) throw bad_file(path, fmt::format("cannot be mapped: {}", std::strerror(errno)));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::string read_text_file(const std::filesystem::path& path, uint64_t limit) {
  const FileDescriptor file = open_regular_file(path);
  const uint64_t size = size_of(file, path);
  if (size > limit) throw bad_file(path, fmt::format("has {} bytes; at most {} are read", size, limit));
  std::string text(size, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw bad_file(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) throw bad_file(path, "became shorter while it was read");
    done += static_cast<size_t>(got);
  }
  return text;
}

}  // namespace d3::checkpoint
