// cli/answer_file.h: the file that a batch writes, and goes on with after a stop.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace d3::cli {

/// The number in a line that a batch wrote, {"line":N,..}; 0 for any other.
int64_t line_number_of(const std::string& line);

class AnswerFile {
 public:
  /// Opens or makes the file; `anew` drops what it holds. Throws Error(kInvalidArgument) when that cannot be
  /// and when another batch has the file open.
  AnswerFile(const std::string& path, bool anew);
  ~AnswerFile();
  AnswerFile(const AnswerFile&) = delete;
  AnswerFile& operator=(const AnswerFile&) = delete;

  const std::string& path() const { return path_; }

  /// Of what a former run wrote; 0 for a pipe or a device.
  off_t size() const;
  /// Bytes that are there. Throws Error(kUnavailable).
  std::string read(off_t at, size_t size) const;
  /// Drops what stands after `end`; the next write goes there.
  void go_on_at(off_t end);
  /// Throws Error(kInvalidArgument): the file is none that this batch would write.
  [[noreturn]] void refuse() const;

  /// Throws Error(kUnavailable).
  void write(const std::string& text);

 private:
  std::string path_;
  int fd_ = -1;
};

/// Goes on with a file of JSON lines: returns the number of the request that was answered last, 0 when none
/// was. What a stop cut off is dropped: a line without a line feed. Refuses a file whose last line no batch
/// has written.
int64_t keep_whole_lines(AnswerFile& file);

/// The same for a table whose first line is `header`; returns how many rows are answered.
int64_t keep_whole_rows(AnswerFile& file, const std::string& header, char delimiter);

}  // namespace d3::cli
