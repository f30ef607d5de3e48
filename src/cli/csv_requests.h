// cli/csv_requests.h: a table's rows as requests, and its rows with their answers beside them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/batch.h"
#include "cli/csv_reader.h"
#include "decision/request.h"

namespace d3::cli {

struct CsvForm {
  char delimiter = ',';
  bool crlf = false;             ///< how the output's lines end
  bool byte_order_mark = false;  ///< the output begins with one
  bool probabilities = false;    ///< a column for every option
};

/// What is asked about each row of a table.
class CsvRequests : public AnswerForm {
 public:
  /// `columns` are the table's; `questions` is the JSON text of a request's `questions`. The state is the
  /// text of the column that `state_columns` names, an object of those columns when it names several, and of
  /// all when it names none. Throws Error(kInvalidArgument) for questions that break a rule, for columns that
  /// have the same name or a name that is no UTF-8, and for a state column that there is not.
  CsvRequests(std::vector<std::string> columns, std::string questions,
              const std::vector<std::string>& state_columns, const CsvForm& form);

  /// The output's first line: the table's columns, then of each question ID and ID.probability, of a score
  /// ID.score too and, where `probabilities` asks for it, ID.KEY of each option, then `error`.
  std::string header() const;

  /// A row as a request of POST /v1/systemone.
  std::string body(const CsvRow& row) const;

  /// What the output keeps of a row: its fields, as many as there are columns.
  std::string kept(const CsvRow& row) const;

  /// Refuses a row with a fault or with another number of fields than there are columns.
  void check(const CsvRow& row) const;

  std::string answer(const BatchLine& line, const decision::Request& request,
                     std::span<const decision::Answer> answers, int64_t tokens) const override;
  std::string error(const BatchLine& line, const api::ErrorReply& reply, const char* message) const override;

 private:
  std::string state_text(const std::vector<std::string>& row) const;
  std::vector<std::string> name_answer_columns() const;
  /// The first `count` fields as a row, empty ones where there are fewer.
  std::string joined(const std::vector<std::string>& fields, size_t count) const;
  void append_answer(std::string& out, const decision::Question& question,
                     const decision::Answer& answer) const;
  std::string end_of_line() const { return form_.crlf ? "\r\n" : "\n"; }

  std::vector<std::string> columns_;
  std::string questions_text_;
  std::vector<decision::Question> questions_;
  std::vector<size_t> state_;  ///< places in columns_
  bool state_is_text_;
  CsvForm form_;
  std::vector<std::string> answer_columns_;
};

}  // namespace d3::cli
