#include "cli/line_reader.h"

#include <utility>

#include "cli/input.h"

namespace d3::cli {

LineReader::LineReader(std::FILE* file, std::string name, size_t max_bytes)
    : file_(file), name_(std::move(name)), max_bytes_(max_bytes) {}

std::optional<Line> LineReader::next() {
  Line line{.number = ++number_, .text = {}};
  for (;;) {
    const size_t feed = buffer_.find('\n', at_);
    const size_t size = (feed == std::string::npos ? buffer_.size() : feed) - at_;
    line.too_long = line.too_long || line.text.size() + size > max_bytes_;
    if (line.too_long)
      line.text.clear();
    else
      line.text.append(buffer_, at_, size);
    end_ += size;
    if (feed != std::string::npos) {
      at_ = feed + 1;
      line.end = ++end_;
      return line;
    }
    if (!fill()) {
      line.end = end_;
      if (line.text.empty() && !line.too_long) return std::nullopt;
      return line;
    }
  }
}

bool LineReader::fill() {
  at_ = 0;
  return read_piece(file_, name_, buffer_);
}

}  // namespace d3::cli
