#include "support/golden.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "json/number.h"
#include "json/parse.h"
#include "support/checkpoint_writer.h"

namespace d3::test {
namespace {

/// Calls use(value) for the JSON value of each line.
template <typename Use>
void for_each_line(const std::filesystem::path& path, const Use& use) {
  const std::string text = read_file(path);
  int line_number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    ++line_number;
    try {
      use(json::parse(std::string_view(text).substr(begin, end - begin)));
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}:{}: {}", path.string(), line_number, error.what()));
    }
    begin = end + 1;
  }
}

const json::Value& member(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  if (value == nullptr) throw std::runtime_error(fmt::format("no {}", key));
  return *value;
}

double to_double(const json::Value& value) { return json::to_double(value.as_number()).value(); }
int to_int(const json::Value& value) { return static_cast<int>(json::to_int64(value.as_number()).value()); }

std::vector<double> doubles(const json::Value& object, std::string_view key) {
  std::vector<double> numbers;
  for (const json::Value& item : member(object, key).as_array()) numbers.push_back(to_double(item));
  return numbers;
}

std::vector<std::array<int, 3>> grids(const json::Value& object, std::string_view key) {
  std::vector<std::array<int, 3>> rows;
  const json::Value* value = object.find(key);
  if (value == nullptr) return rows;
  for (const json::Value& row : value->as_array()) {
    const json::Array& sizes = row.as_array();
    rows.push_back({to_int(sizes.at(0)), to_int(sizes.at(1)), to_int(sizes.at(2))});
  }
  return rows;
}

GoldenQuestion to_question(const json::Value& line) {
  GoldenQuestion out;
  out.case_id = member(line, "case").as_string();
  out.question = member(line, "question").as_string();
  out.tokens = to_int(member(line, "tokens"));
  if (const json::Value* ids = line.find("input_ids"))
    for (const json::Value& id : ids->as_array()) out.input_ids.push_back(to_int(id));
  out.logits_float32 = doubles(line, "logits_float32");
  out.probabilities_float32 = doubles(line, "probabilities_float32");
  out.logits_bfloat16 = doubles(line, "logits_bfloat16");
  out.probabilities_bfloat16 = doubles(line, "probabilities_bfloat16");
  out.image_grid_thw = grids(line, "image_grid_thw");
  out.video_grid_thw = grids(line, "video_grid_thw");
  const size_t options = out.probabilities_float32.size();
  if (options == 0 || out.logits_float32.size() != options || out.logits_bfloat16.size() != options ||
      out.probabilities_bfloat16.size() != options)
    throw std::runtime_error("the counts of logits and probabilities differ");
  return out;
}

/// Between the two largest; a question of one option has no rival.
double gap_of(std::vector<double> probabilities) {
  if (probabilities.size() < 2) return std::numeric_limits<double>::infinity();
  std::sort(probabilities.begin(), probabilities.end(), std::greater<>());
  return probabilities[0] - probabilities[1];
}

std::string figures(const ErrorSummary& errors) {
  return fmt::format("median {:.3g}, p95 {:.3g}, max {:.3g}", errors.median, errors.p95, errors.max);
}

}  // namespace

std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path) {
  std::vector<GoldenCase> cases;
  for_each_line(path, [&](const json::Value& line) {
    cases.push_back({member(line, "id").as_string(), member(line, "request")});
  });
  return cases;
}

std::vector<GoldenQuestion> read_golden(const std::filesystem::path& path) {
  std::vector<GoldenQuestion> questions;
  for_each_line(path, [&](const json::Value& line) { questions.push_back(to_question(line)); });
  return questions;
}

size_t decision_of(std::span<const double> probabilities) {
  return static_cast<size_t>(std::max_element(probabilities.begin(), probabilities.end()) -
                             probabilities.begin());
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

ErrorSummary summarize(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const size_t n = errors.size();
  const size_t p95 = (n * 95 + 99) / 100 - 1;
  return {(errors[(n - 1) / 2] + errors[n / 2]) / 2, errors[p95], errors.back()};
}

bool ParityReport::float32_equal() const { return changed.empty() && ours.max <= kFloat32Tolerance; }

bool ParityReport::float32_equal_but_for_ties(size_t ties) const {
  constexpr double kOneStep = 0.0025;
  return changed.empty() && unequal.size() <= ties && ours.max <= kOneStep;
}

bool ParityReport::bfloat16_equal() const {
  return ours.median <= reference.median && ours.p95 <= reference.p95 && ours.max <= 1.25 * reference.max &&
         std::all_of(changed.begin(), changed.end(),
                     [&](const ChangedDecision& decision) { return decision.gap < reference.max; });
}

std::string ParityReport::text() const {
  std::string out = fmt::format("{} questions, |dp|: {}; reference in bfloat16: {}; decisions changed: {}\n",
                                questions, figures(ours), figures(reference), changed.size());
  for (const UnequalAnswer& answer : std::span(unequal).first(std::min<size_t>(unequal.size(), 5)))
    out += fmt::format("  unequal: {} {}, |dp| {:.3g}\n", answer.case_id, answer.question, answer.error);
  for (const ChangedDecision& decision : changed)
    out += fmt::format("  changed: {} {}, gap {:.4g}, the reference's own error there {:.4g}\n",
                       decision.case_id, decision.question, decision.gap, decision.reference_error);
  return out;
}

ParityReport compare(std::span<const GoldenQuestion> golden,
                     std::span<const std::vector<double>> probabilities) {
  if (golden.size() != probabilities.size())
    throw std::invalid_argument(
        fmt::format("{} golden questions, {} answers", golden.size(), probabilities.size()));
  ParityReport report;
  report.questions = golden.size();
  std::vector<double> ours, reference;
  for (size_t i = 0; i < golden.size(); ++i) {
    const std::vector<double>& truth = golden[i].probabilities_float32;
    ours.push_back(largest_difference(probabilities[i], truth));
    reference.push_back(largest_difference(golden[i].probabilities_bfloat16, truth));
    if (!(ours.back() <= kFloat32Tolerance))
      report.unequal.push_back({golden[i].case_id, golden[i].question, ours.back()});
    if (decision_of(probabilities[i]) != decision_of(truth))
      report.changed.push_back({golden[i].case_id, golden[i].question, gap_of(truth), reference.back()});
  }
  report.ours = summarize(std::move(ours));
  report.reference = summarize(std::move(reference));
  return report;
}

}  // namespace d3::test
