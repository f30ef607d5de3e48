#include "cli/line_reader.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

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
  constexpr size_t kPiece = 1 << 16;
  buffer_.resize(kPiece);
  at_ = 0;
  buffer_.resize(std::fread(buffer_.data(), 1, buffer_.size(), file_));
  if (buffer_.empty() && std::ferror(file_) != 0)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("cannot read {}: {}", name_, std::strerror(errno)),
                name_);
  return !buffer_.empty();
}

}  // namespace d3::cli
