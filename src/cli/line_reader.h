// cli/line_reader.h: a file of any length, line by line, in bounded memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace d3::cli {

struct Line {
  int64_t number = 0;  ///< from 1
  std::string text;    ///< without its line feed; empty when it was too long
  bool too_long = false;
  uint64_t end = 0;  ///< bytes of the file up to here, the line feed included
};

class LineReader {
 public:
  /// `name` is named in errors. A line may have `max_bytes`.
  LineReader(std::FILE* file, std::string name, size_t max_bytes);

  /// None at the end. Throws Error(kInvalidArgument) when the file cannot be read.
  std::optional<Line> next();

 private:
  bool fill();

  std::FILE* file_;
  std::string name_;
  size_t max_bytes_;
  std::string buffer_;
  size_t at_ = 0;  ///< of the first byte of buffer_ that no line has had
  int64_t number_ = 0;
  uint64_t end_ = 0;
};

}  // namespace d3::cli
