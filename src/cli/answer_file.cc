#include "cli/answer_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace d3::cli {
namespace {

constexpr std::string_view kStart = R"({"line":)";

Error bad_file(ErrorCode code, const std::string& path, const std::string& what) {
  return {code, fmt::format("{}: {}", path, what), path};
}

std::string read_at(int fd, off_t at, size_t size, const std::string& path) {
  std::string text(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, text.data() + done, size - done, at + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw bad_file(ErrorCode::kUnavailable, path, std::strerror(got < 0 ? errno : EIO));
    done += static_cast<size_t>(got);
  }
  return text;
}

/// The place after the last line feed before `end`; 0 when there is none.
off_t line_start(int fd, off_t end, const std::string& path) {
  constexpr off_t kPiece = 1 << 16;
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - kPiece);
    const size_t found = read_at(fd, begin, static_cast<size_t>(end - begin), path).rfind('\n');
    if (found != std::string::npos) return begin + static_cast<off_t>(found) + 1;
    end = begin;
  }
  return 0;
}

}  // namespace

int64_t line_number_of(const std::string& line) {
  if (!line.starts_with(kStart)) return 0;
  int64_t number = 0;
  const char* end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data() + kStart.size(), end, number);
  return error == std::errc() && after != end && *after == ',' && number > 0 ? number : 0;
}

AnswerFile::AnswerFile(const std::string& path, bool anew) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) throw bad_file(ErrorCode::kInvalidArgument, path, std::strerror(errno));
  try {
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      throw bad_file(ErrorCode::kInvalidArgument, path, "another batch writes to it");
    struct stat info {};
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode))
      return;  // a pipe or a device: nothing to go on with
    if (anew && ::ftruncate(fd_, 0) != 0) throw bad_file(ErrorCode::kUnavailable, path, std::strerror(errno));
    last_line_ = keep_whole_lines();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

AnswerFile::~AnswerFile() { ::close(fd_); }

int64_t AnswerFile::keep_whole_lines() {
  const auto text = [&](off_t begin, off_t end) {
    constexpr off_t kEnough = 64;  // for a line's number
    return read_at(fd_, begin, static_cast<size_t>(std::min(end - begin, kEnough)), path_);
  };
  const off_t size = ::lseek(fd_, 0, SEEK_END);
  const off_t end = line_start(fd_, size, path_);
  const int64_t last = end == 0 ? 0 : line_number_of(text(line_start(fd_, end - 1, path_), end));
  const std::string start = text(0, size);
  const size_t known = std::min(start.size(), kStart.size());
  if (start.substr(0, known) != kStart.substr(0, known) || (end > 0 && last == 0))
    throw bad_file(ErrorCode::kInvalidArgument, path_,
                   "holds what no batch has written; --restart writes it anew");
  if (end < size && ::ftruncate(fd_, end) != 0)
    throw bad_file(ErrorCode::kUnavailable, path_, std::strerror(errno));
  ::lseek(fd_, end, SEEK_SET);
  return last;
}

void AnswerFile::write(const std::string& lines) {
  size_t done = 0;
  while (done < lines.size()) {
    const ssize_t put = ::write(fd_, lines.data() + done, lines.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      throw bad_file(ErrorCode::kUnavailable, path_,
                     fmt::format("cannot be written: {}", std::strerror(errno)));
    done += static_cast<size_t>(put);
  }
}

}  // namespace d3::cli
