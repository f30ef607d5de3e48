// A table's rows keep within their limits, and what is written of a good row reads back as the same fields.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/csv_reader.h"
#include "require.h"

namespace {

using d3::fuzz::require;

using d3::cli::CsvReader;
using d3::cli::CsvRow;

std::vector<CsvRow> rows_of(std::string text, char delimiter, const d3::cli::CsvLimits& limits) {
  std::vector<CsvRow> rows;
  if (text.empty()) return rows;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(::fmemopen(text.data(), text.size(), "r"),
                                                             std::fclose);
  CsvReader reader(file.get(), "memory", delimiter, limits);
  try {
    while (auto row = reader.next()) rows.push_back(std::move(*row));
  } catch (const d3::Error&) {
    require(text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"));
  }
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const char delimiter = data[0] % 2 == 0 ? ',' : '\t';
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const d3::cli::CsvLimits limits{.max_bytes = 256, .max_fields = 16};
  int64_t line = 0;
  uint64_t end = 0;
  for (const CsvRow& row : rows_of(text, delimiter, limits)) {
    require(row.line > line && row.end > end && row.end <= text.size());
    line = row.line;
    end = row.end;
    size_t bytes = 0;
    for (const std::string& field : row.fields) bytes += field.size();
    require(bytes <= limits.max_bytes + row.fields.size() && row.fields.size() <= limits.max_fields);
    if (!row.fault.empty() || (row.fields.size() == 1 && row.fields[0].empty())) continue;
    std::string again = "\xef\xbb\xbf";
    for (size_t i = 0; i < row.fields.size(); ++i) {
      if (i > 0) again += delimiter;
      d3::cli::append_csv_field(again, row.fields[i], delimiter);
    }
    const auto read = rows_of(again + "\r\n", delimiter, {});
    require(read.size() == 1 && read[0].fields == row.fields && read[0].fault.empty());
  }
  return 0;
}
