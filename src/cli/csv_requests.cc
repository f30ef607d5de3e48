#include "cli/csv_requests.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "decision/answer.h"
#include "decision/validation.h"
#include "json/parse.h"
#include "json/write.h"

namespace d3::cli {
namespace {

using decision::QuestionType;

std::vector<decision::Question> parse_questions(const std::string& text) {
  json::parse(text);  // one value, and nothing that a request would take for its own
  return decision::parse_request(json::parse(R"({"state":null,"questions":)" + text + "}")).questions;
}

std::vector<size_t> places_of(const std::vector<std::string>& names,
                              const std::vector<std::string>& columns) {
  std::vector<size_t> places;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(columns, name);
    if (found == columns.end())
      throw Error(ErrorCode::kInvalidArgument, fmt::format("the table has no column {}", name), name);
    places.push_back(static_cast<size_t>(found - columns.begin()));
  }
  return places;
}

/// Of the decision itself: an option's key, a level's text.
const std::string& name_of(const decision::Question& question, size_t option) {
  return question.type == QuestionType::kScore ? question.options[option].text : question.options[option].key;
}

}  // namespace

CsvRequests::CsvRequests(std::vector<std::string> columns, std::string questions,
                         const std::vector<std::string>& state_columns, const CsvForm& form)
    : columns_(std::move(columns)),
      questions_text_(std::move(questions)),
      questions_(parse_questions(questions_text_)),
      state_(places_of(state_columns, columns_)),
      state_is_text_(state_.size() == 1),
      form_(form),
      answer_columns_(name_answer_columns()) {
  if (state_columns.empty()) {
    state_.resize(columns_.size());
    std::iota(state_.begin(), state_.end(), size_t{0});
  }
  std::set<std::string> names;
  for (const std::string& name : columns_) {
    std::string text;
    json::append_string(text, name);
    json::parse(text);  // it is UTF-8
    if (!names.insert(name).second)
      throw Error(ErrorCode::kInvalidArgument, fmt::format("two columns have the name {}", text), name);
  }
  for (const std::string& name : answer_columns_)
    if (!names.insert(name).second)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("the output would have two columns {}; call the question or the column "
                              "something else",
                              name),
                  name);
}

std::vector<std::string> CsvRequests::name_answer_columns() const {
  std::vector<std::string> names;
  for (const decision::Question& question : questions_) {
    names.push_back(question.id);
    names.push_back(question.id + ".probability");
    if (question.type == QuestionType::kScore) names.push_back(question.id + ".score");
    if (!form_.probabilities) continue;
    for (const decision::Option& option : question.options) names.push_back(question.id + '.' + option.key);
  }
  names.emplace_back("error");
  return names;
}

std::string CsvRequests::header() const {
  std::vector<std::string> names = columns_;
  names.insert(names.end(), answer_columns_.begin(), answer_columns_.end());
  return (form_.byte_order_mark ? "\xef\xbb\xbf" : "") + joined(names, names.size()) + end_of_line();
}

std::string CsvRequests::body(const CsvRow& row) const {
  return R"({"state":)" + state_text(row.fields) + R"(,"questions":)" + questions_text_ + "}";
}

// JSON is checked when it is parsed, so that bytes that are no UTF-8 are refused there.
std::string CsvRequests::state_text(const std::vector<std::string>& row) const {
  std::string out;
  if (state_is_text_) {
    json::append_string(out, row[state_.front()]);
    return out;
  }
  out += '{';
  for (const size_t place : state_) {
    if (out.size() > 1) out += ',';
    json::append_string(out, columns_[place]);
    out += ':';
    json::append_string(out, row[place]);
  }
  return out + '}';
}

std::string CsvRequests::kept(const CsvRow& row) const { return joined(row.fields, columns_.size()); }

std::string CsvRequests::joined(const std::vector<std::string>& fields, size_t count) const {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) out += form_.delimiter;
    if (i < fields.size()) append_csv_field(out, fields[i], form_.delimiter);
  }
  return out;
}

void CsvRequests::check(const CsvRow& row) const {
  if (!row.fault.empty()) throw Error(ErrorCode::kInvalidArgument, row.fault);
  if (row.fields.size() == columns_.size()) return;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("has {} fields where the table has {} columns",
                                                       row.fields.size(), columns_.size()));
}

std::string CsvRequests::answer(const BatchLine& line, const decision::Request& request,
                                std::span<const decision::Answer> answers, int64_t /*tokens*/) const {
  std::string out = line.kept;
  for (size_t i = 0; i < answers.size(); ++i) append_answer(out, request.questions[i], answers[i]);
  return out + form_.delimiter + end_of_line();
}

void CsvRequests::append_answer(std::string& out, const decision::Question& question,
                                const decision::Answer& answer) const {
  const auto append_number = [&](double value) { out += fmt::format("{}{:.6f}", form_.delimiter, value); };
  out += form_.delimiter;
  append_csv_field(out, name_of(question, answer.best), form_.delimiter);
  append_number(answer.probabilities[answer.best]);
  if (question.type == QuestionType::kScore) append_number(decision::expected_level(answer));
  if (!form_.probabilities) return;
  for (const double probability : answer.probabilities) append_number(probability);
}

std::string CsvRequests::error(const BatchLine& line, const api::ErrorReply& /*reply*/,
                               const char* message) const {
  std::string out = line.kept;
  out.append(answer_columns_.size(), form_.delimiter);
  append_csv_field(out, fmt::format("line {}: {}", line.number, message), form_.delimiter);
  return out + end_of_line();
}

}  // namespace d3::cli
