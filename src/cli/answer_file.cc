#include "cli/answer_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/csv_reader.h"
#include "cli/input.h"

namespace d3::cli {
namespace {

constexpr std::string_view kStart = R"({"line":)";

Error bad_file(ErrorCode code, const std::string& path, const std::string& what) {
  return {code, fmt::format("{}: {}", path, what), path};
}

/// The place after the last line feed before `end`; 0 when there is none.
off_t line_start(const AnswerFile& file, off_t end) {
  constexpr off_t kPiece = 1 << 16;
  while (end > 0) {
    const off_t begin = std::max<off_t>(0, end - kPiece);
    const size_t found = file.read(begin, static_cast<size_t>(end - begin)).rfind('\n');
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
    if (anew && size() > 0 && ::ftruncate(fd_, 0) != 0)
      throw bad_file(ErrorCode::kUnavailable, path, std::strerror(errno));
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

AnswerFile::~AnswerFile() { ::close(fd_); }

off_t AnswerFile::size() const {
  struct stat info {};
  return ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : 0;
}

std::string AnswerFile::read(off_t at, size_t size) const {
  std::string text(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd_, text.data() + done, size - done, at + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw bad_file(ErrorCode::kUnavailable, path_, std::strerror(got < 0 ? errno : EIO));
    done += static_cast<size_t>(got);
  }
  return text;
}

void AnswerFile::go_on_at(off_t end) {
  if (end < size() && ::ftruncate(fd_, end) != 0)
    throw bad_file(ErrorCode::kUnavailable, path_, std::strerror(errno));
  ::lseek(fd_, end, SEEK_SET);
}

void AnswerFile::refuse() const {
  throw bad_file(ErrorCode::kInvalidArgument, path_,
                 "holds what no batch like this has written; --restart writes it anew");
}

void AnswerFile::write(const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = ::write(fd_, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      throw bad_file(ErrorCode::kUnavailable, path_,
                     fmt::format("cannot be written: {}", std::strerror(errno)));
    done += static_cast<size_t>(put);
  }
}

int64_t keep_whole_lines(AnswerFile& file) {
  const auto text = [&](off_t begin, off_t end) {
    constexpr off_t kEnough = 64;  // for a line's number
    return file.read(begin, static_cast<size_t>(std::min(end - begin, kEnough)));
  };
  const off_t size = file.size();
  const off_t end = line_start(file, size);
  const int64_t last = end == 0 ? 0 : line_number_of(text(line_start(file, end - 1), end));
  const std::string start = text(0, size);
  const size_t known = std::min(start.size(), kStart.size());
  if (start.substr(0, known) != kStart.substr(0, known) || (end > 0 && last == 0)) file.refuse();
  file.go_on_at(end);
  return last;
}

int64_t keep_whole_rows(AnswerFile& file, const std::string& header, char delimiter) {
  const auto size = static_cast<size_t>(file.size());
  const std::string start = file.read(0, std::min(size, header.size()));
  if (!header.starts_with(start)) file.refuse();
  if (size < header.size()) {
    file.go_on_at(0);
    file.write(header);
    return 0;
  }
  const File stream(std::fopen(file.path().c_str(), "rb"), std::fclose);
  if (!stream) throw bad_file(ErrorCode::kUnavailable, file.path(), std::strerror(errno));
  // Wider than the input may be, by the answers.
  CsvReader reader(stream.get(), file.path(), delimiter,
                   {.max_bytes = size_t{1} << 28, .max_fields = size_t{1} << 16});
  int64_t rows = -1;  // the header is one
  uint64_t end = 0;
  while (const auto row = reader.next()) {
    if (!row->ends_with_line_feed) break;
    if (!row->fault.empty()) file.refuse();
    end = row->end;
    ++rows;
  }
  file.go_on_at(static_cast<off_t>(end));
  return rows;
}

}  // namespace d3::cli
