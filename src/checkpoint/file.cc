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

void check_limit(uint64_t size, uint64_t limit, const std::filesystem::path& path) {
  if (size > limit) throw bad_file(path, fmt::format("has {} bytes; at most {} are read", size, limit));
}

std::span<const std::byte> embedded_file(const Folder& folder, std::string_view name) {
  const auto bytes = folder.find(name);
  if (!bytes) throw bad_file(folder.path() / name, "file is missing");
  return *bytes;
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
  mapped_ = true;
}

MappedFile::MappedFile(const Folder& folder, std::string_view name) {
  if (folder.embedded())
    bytes_ = embedded_file(folder, name);
  else
    *this = MappedFile(folder.path() / name);
}

MappedFile::~MappedFile() {
  if (mapped_) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::string read_text_file(const std::filesystem::path& path, uint64_t limit) {
  const FileDescriptor file = open_regular_file(path);
  const uint64_t size = size_of(file, path);
  check_limit(size, limit, path);
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

std::string read_text_file(const Folder& folder, std::string_view name, uint64_t limit) {
  if (!folder.embedded()) return read_text_file(folder.path() / name, limit);
  const auto bytes = embedded_file(folder, name);
  check_limit(bytes.size(), limit, folder.path() / name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool has_file(const Folder& folder, std::string_view name) {
  if (folder.embedded()) return folder.find(name).has_value();
  std::error_code error;
  return std::filesystem::symlink_status(folder.path() / name, error).type() !=
         std::filesystem::file_type::not_found;
}

void require_file(const Folder& folder, std::string_view name) {
  if (folder.embedded())
    embedded_file(folder, name);
  else
    open_regular_file(folder.path() / name);
}

}  // namespace d3::checkpoint
