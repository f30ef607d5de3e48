// cli/batch_input.h: the requests of a batch, from a file of JSON lines or from a table.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cli/answer_file.h"
#include "cli/batch.h"
#include "cli/csv_reader.h"
#include "cli/csv_requests.h"
#include "cli/line_reader.h"

namespace d3::cli {

class BatchInput {
 public:
  virtual ~BatchInput() = default;

  /// Leaves out what the output answers already, and says how much that is: the last line, or how many rows.
  /// Called once, before the rest. Throws as keep_whole_lines and keep_whole_rows do.
  virtual int64_t go_on_with(AnswerFile& output) = 0;
  virtual const char* unit() const = 0;  ///< of that number: "line", "row"

  virtual const AnswerForm& form() const = 0;

  /// Adds the next request; false at the end.
  virtual bool add_next(Batch& batch) = 0;
};

/// A request a line.
class LineInput : public BatchInput {
 public:
  /// `name` is named in errors, `model` in answers.
  LineInput(std::FILE* file, std::string name, std::string model);

  int64_t go_on_with(AnswerFile& output) override;
  const char* unit() const override { return "line"; }
  const AnswerForm& form() const override { return form_; }
  bool add_next(Batch& batch) override;

 private:
  LineReader reader_;
  JsonLines form_;
  int64_t answered_ = 0;
};

/// A row a request.
class TableInput : public BatchInput {
 public:
  /// Reads the table's first row. Throws as CsvReader and CsvRequests do.
  TableInput(std::FILE* file, std::string name, std::string questions,
             const std::vector<std::string>& state_columns, CsvForm form);

  int64_t go_on_with(AnswerFile& output) override;
  const char* unit() const override { return "row"; }
  const AnswerForm& form() const override { return *form_; }
  bool add_next(Batch& batch) override;

 private:
  CsvReader reader_;
  char delimiter_;
  std::optional<CsvRequests> form_;
  int64_t answered_ = 0;
  int64_t rows_ = 0;
};

}  // namespace d3::cli
