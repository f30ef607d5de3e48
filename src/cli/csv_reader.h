// cli/csv_reader.h: a table of comma-separated values (RFC 4180), row by row, in bounded memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d3::cli {

struct CsvRow {
  int64_t line = 0;                 ///< at which it begins, from 1
  std::vector<std::string> fields;  ///< without their quotes; those before the fault where there is one
  std::string fault;                ///< why it is no row; empty for a good one
  bool ends_with_crlf = false;
  bool ends_with_line_feed = false;  ///< false for a last row that nothing ends
  uint64_t end = 0;                  ///< bytes of the file up to here, the line feed included
};

struct CsvLimits {
  size_t max_bytes = size_t{64} << 20;  ///< of a row's fields
  size_t max_fields = 16'384;           ///< of a row; as many columns as spreadsheets have
};

/// Rows end with CR LF or LF; a field may stand in double quotes, and then holds delimiters, line feeds and
/// doubled quotes. A UTF-8 byte order mark at the start is passed over, and so are empty lines. What is no
/// row by these rules becomes one with a fault, and reading goes on with the next line: none is guessed at.
class CsvReader {
 public:
  /// `name` is named in errors; `delimiter` is neither a quote nor CR nor LF.
  CsvReader(std::FILE* file, std::string name, char delimiter, const CsvLimits& limits = {});

  /// None at the end. Throws Error(kInvalidArgument) when the file cannot be read or is UTF-16.
  std::optional<CsvRow> next();

  /// Once the first row is read: the file begins with a byte order mark.
  bool has_byte_order_mark() const { return has_byte_order_mark_; }

 private:
  enum class After { kField, kRow };

  void skip_byte_order_mark();
  void read_row(CsvRow& row);
  After read_field(CsvRow& row);
  bool read_quoted(CsvRow& row);
  bool read_bare(CsvRow& row);
  After end_field(CsvRow& row);
  After fail(CsvRow& row, const char* fault);
  bool has_room(CsvRow& row, size_t more);

  int peek();        ///< the next byte; -1 at the end
  void take();       ///< passes over it
  bool fill();       ///< more bytes into buffer_
  void skip_line();  ///< up to and with the next line feed
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }
  void take_text(CsvRow& row, size_t size);  ///< that many bytes of rest() into the row's last field

  std::FILE* file_;
  std::string name_;
  char delimiter_;
  CsvLimits limits_;
  std::string stops_;  ///< what ends a run of an unquoted field's bytes
  std::string buffer_;
  size_t at_ = 0;  ///< of the first byte of buffer_ that is not taken
  size_t row_bytes_ = 0;
  int64_t line_ = 1;
  uint64_t end_ = 0;
  bool started_ = false;
  bool has_byte_order_mark_ = false;
};

/// `field` as a row holds it: in quotes where it must be.
void append_csv_field(std::string& out, std::string_view field, char delimiter);

}  // namespace d3::cli
