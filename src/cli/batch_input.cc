#include "cli/batch_input.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace d3::cli {
namespace {

constexpr size_t kMaxLineBytes = size_t{64} << 20;

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r") == std::string::npos; }

}  // namespace

LineInput::LineInput(std::FILE* file, std::string name, std::string model)
    : reader_(file, std::move(name), kMaxLineBytes),
      form_({.names = {std::move(model)},
             .created = 0,
             .max_model_len = {},
             .takes_media = true,
             .description = {}}) {}

int64_t LineInput::go_on_with(AnswerFile& output) { return answered_ = keep_whole_lines(output); }

bool LineInput::add_next(Batch& batch) {
  for (;;) {
    const auto line = reader_.next();
    if (!line) return false;
    if (line->number <= answered_ || (!line->too_long && is_blank(line->text))) continue;
    BatchLine place{.number = line->number, .end = line->end};
    if (line->too_long)
      batch.add_bad(std::move(place), Error(ErrorCode::kPayloadTooLarge,
                                            fmt::format("is longer than {} bytes", kMaxLineBytes)));
    else
      batch.add(std::move(place), line->text);
    return true;
  }
}

TableInput::TableInput(std::FILE* file, std::string name, std::string questions,
                       const std::vector<std::string>& state_columns, CsvForm form)
    : reader_(file, name, form.delimiter), delimiter_(form.delimiter) {
  auto header = reader_.next();
  if (!header || !header->fault.empty())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: its first row should name the columns, and {}", name,
                            header ? header->fault : "there is none"),
                name);
  form.crlf = header->ends_with_crlf;
  form.byte_order_mark = reader_.has_byte_order_mark();
  form_.emplace(std::move(header->fields), std::move(questions), state_columns, form);
}

int64_t TableInput::go_on_with(AnswerFile& output) {
  return answered_ = keep_whole_rows(output, form_->header(), delimiter_);
}

bool TableInput::add_next(Batch& batch) {
  std::optional<CsvRow> row;
  do {
    row = reader_.next();
    if (!row) return false;
  } while (++rows_ <= answered_);
  BatchLine place{.number = row->line, .end = row->end, .kept = form_->kept(*row)};
  try {
    form_->check(*row);
  } catch (const Error& error) {
    batch.add_bad(std::move(place), error);
    return true;
  }
  batch.add(std::move(place), form_->body(*row));
  return true;
}

}  // namespace d3::cli
