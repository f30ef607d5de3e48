// cli/answer_file.h: the file that a batch writes, a line for every request, and goes on with after a stop.
#pragma once

#include <cstdint>
#include <string>

#include "cli/context.h"

namespace d3::cli {

/// The number in a line that a batch wrote, {"line":N,..}; 0 for any other.
int64_t line_number_of(const std::string& line);

class AnswerFile {
 public:
  /// Opens or makes the file; `anew` drops what it holds. What a stop cut off at its end is dropped: a line
  /// without a line feed. Throws Error(kInvalidArgument) for a file whose last line no batch has written, and
  /// when another batch has the file open.
  AnswerFile(const std::string& path, bool anew);
  ~AnswerFile();
  AnswerFile(const AnswerFile&) = delete;
  AnswerFile& operator=(const AnswerFile&) = delete;

  /// The number of the request that was answered last; 0 when none was.
  int64_t last_line() const { return last_line_; }

  /// Whole lines, with their line feeds. Throws Error(kUnavailable).
  void write(const std::string& lines);

 private:
  int64_t keep_whole_lines();

  std::string path_;
  int fd_ = -1;
  int64_t last_line_ = 0;
};

}  // namespace d3::cli
