#include "cli/csv_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/input.h"

namespace d3::cli {

CsvReader::CsvReader(std::FILE* file, std::string name, char delimiter, const CsvLimits& limits)
    : file_(file),
      name_(std::move(name)),
      delimiter_(delimiter),
      limits_(limits),
      stops_({delimiter, '"', '\r', '\n'}) {}

std::optional<CsvRow> CsvReader::next() {
  if (!std::exchange(started_, true)) skip_byte_order_mark();
  while (peek() >= 0) {
    CsvRow row{.line = line_, .fields = {}, .fault = {}};
    const bool quoted = peek() == '"';
    read_row(row);
    row.end = end_;
    const bool is_blank = !quoted && row.fields.size() == 1 && row.fields.front().empty();
    if (!is_blank || !row.fault.empty()) return row;
  }
  return std::nullopt;
}

void CsvReader::skip_byte_order_mark() {
  if (!fill()) return;
  if (rest().starts_with("\xff\xfe") || rest().starts_with("\xfe\xff"))
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{} is UTF-16; save it as UTF-8", name_), name_);
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  has_byte_order_mark_ = rest().starts_with(kMark);
  if (!has_byte_order_mark_) return;
  at_ = kMark.size();
  end_ = kMark.size();
}

void CsvReader::read_row(CsvRow& row) {
  row_bytes_ = 0;
  do {
    if (row.fields.size() == limits_.max_fields) {
      fail(row, "has more fields than any table may have");
      return;
    }
    row.fields.emplace_back();
  } while (read_field(row) == After::kField);
}

CsvReader::After CsvReader::read_field(CsvRow& row) {
  if (!(peek() == '"' ? read_quoted(row) : read_bare(row))) return After::kRow;
  return end_field(row);
}

bool CsvReader::read_quoted(CsvRow& row) {
  take();
  for (;;) {
    if (peek() < 0) {
      fail(row, "has a quote that nothing closes");
      return false;
    }
    const size_t quote = rest().find('"');
    const size_t size = quote == std::string_view::npos ? rest().size() : quote;
    if (!has_room(row, size)) return false;
    take_text(row, size);
    if (quote == std::string_view::npos) continue;
    take();
    if (peek() != '"') return true;
    if (!has_room(row, 1)) return false;
    take_text(row, 1);
  }
}

bool CsvReader::read_bare(CsvRow& row) {
  while (peek() >= 0) {
    const size_t stop = rest().find_first_of(stops_);
    const size_t size = stop == std::string_view::npos ? rest().size() : stop;
    if (!has_room(row, size)) return false;
    take_text(row, size);
    if (stop != std::string_view::npos) return true;
  }
  return true;
}

CsvReader::After CsvReader::end_field(CsvRow& row) {
  const int next = peek();
  if (next < 0) return After::kRow;
  if (next == static_cast<unsigned char>(delimiter_)) {
    take();
    return After::kField;
  }
  if (next == '"') return fail(row, "has a quote within a field that does not begin with one");
  if (next == '\r') {
    take();
    row.ends_with_crlf = peek() == '\n';
    if (peek() >= 0 && !row.ends_with_crlf) return fail(row, "has a carriage return without a line feed");
  } else if (next != '\n') {
    return fail(row, "has text between a closing quote and the field's end");
  }
  row.ends_with_line_feed = peek() == '\n';
  if (row.ends_with_line_feed) take();
  return After::kRow;
}

CsvReader::After CsvReader::fail(CsvRow& row, const char* fault) {
  row.fault = fault;
  skip_line();
  return After::kRow;
}

bool CsvReader::has_room(CsvRow& row, size_t more) {
  row_bytes_ += more;
  if (row_bytes_ <= limits_.max_bytes) return true;
  row.fields.clear();  // such a row's text is not kept
  fail(row, "is too long");
  return false;
}

int CsvReader::peek() {
  if (at_ == buffer_.size() && !fill()) return -1;
  return static_cast<unsigned char>(buffer_[at_]);
}

void CsvReader::take() {
  if (buffer_[at_] == '\n') ++line_;
  ++at_;
  ++end_;
}

void CsvReader::take_text(CsvRow& row, size_t size) {
  const std::string_view text = rest().substr(0, size);
  row.fields.back() += text;
  line_ += std::ranges::count(text, '\n');
  at_ += size;
  end_ += size;
}

void CsvReader::skip_line() {
  while (peek() >= 0) {
    const size_t feed = rest().find('\n');
    if (feed != std::string_view::npos) {
      at_ += feed;
      end_ += feed;
      return take();
    }
    end_ += rest().size();
    at_ = buffer_.size();
  }
}

bool CsvReader::fill() {
  at_ = 0;
  return read_piece(file_, name_, buffer_);
}

void append_csv_field(std::string& out, std::string_view field, char delimiter) {
  if (field.find_first_of(std::string{delimiter, '"', '\r', '\n'}) == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace d3::cli
