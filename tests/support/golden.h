// tests/support/golden.h: the golden answers of the reference, and what "equal to the reference" means.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "json/value.h"

namespace d3::test {

/// A line of text.jsonl or media.jsonl. Media in the request are file paths beside that file.
struct GoldenCase {
  std::string id;
  json::Value request;  ///< {state, questions, images?, videos?}
};

/// A line of golden-<checkpoint>.jsonl: what the reference computes for one question, over the question's
/// options in prompt order.
struct GoldenQuestion {
  std::string case_id;
  std::string question;
  int tokens = 0;
  std::vector<int32_t> input_ids;  ///< empty where the file leaves them out (same tokenizer as `tiny`)
  std::vector<double> logits_float32;
  std::vector<double> probabilities_float32;
  std::vector<double> logits_bfloat16;
  std::vector<double> probabilities_bfloat16;
  std::vector<std::array<int, 3>> image_grid_thw;
  std::vector<std::array<int, 3>> video_grid_thw;

  bool has_media() const { return !image_grid_thw.empty() || !video_grid_thw.empty(); }
};

/// In the file's order. std::runtime_error when the file is missing or a line is not as described.
std::vector<GoldenCase> read_golden_cases(const std::filesystem::path& path);
std::vector<GoldenQuestion> read_golden(const std::filesystem::path& path);

/// The index of the largest probability, the first of equals.
size_t decision_of(std::span<const double> probabilities);
/// max |a - b| over a question's options; infinite when a value is not finite or the counts differ.
double largest_difference(std::span<const double> a, std::span<const double> b);

/// Errors of many questions, each the largest |Δp| over its options against the float32 golden values.
struct ErrorSummary {
  double median = 0;
  double p95 = 0;  ///< the ceil(0.95 n)-th smallest
  double max = 0;
};
/// All zeros for no errors.
ErrorSummary summarize(std::vector<double> errors);

/// The largest |Δp| of an answer that counts as equal to the reference's in float32.
inline constexpr double kFloat32Tolerance = 1e-4;

/// A question whose answer is further than kFloat32Tolerance from the float32 golden one.
struct UnequalAnswer {
  std::string case_id;
  std::string question;
  double error = 0;  ///< its largest |Δp|
};

/// A question whose decision is not that of the float32 golden values.
struct ChangedDecision {
  std::string case_id;
  std::string question;
  double gap = 0;              ///< between the two largest float32 golden probabilities
  double reference_error = 0;  ///< the reference's own bfloat16 error on this question
};

/// The answers of an engine beside the golden ones of the same questions.
struct ParityReport {
  size_t questions = 0;
  ErrorSummary ours;       ///< against the float32 golden values
  ErrorSummary reference;  ///< of the reference's bfloat16 against its own float32
  std::vector<UnequalAnswer> unequal;
  std::vector<ChangedDecision> changed;

  /// max |Δp| <= kFloat32Tolerance and the same decision everywhere.
  bool float32_equal() const;
  /// The same for a checkpoint that rounds its hidden state to bf16 before the readout (tiny-causal): a
  /// hidden value within 1e-7 of a rounding tie goes one way or the other by the order of a sum, which
  /// differs between SIMD targets, and takes a logit one bf16 step with it. At most `ties` answers may be
  /// unequal, by one step.
  bool float32_equal_but_for_ties(size_t ties) const;
  /// Median and 95th percentile no larger than the reference's own bfloat16 error, the maximum at most a
  /// quarter more, and no decision changed unless its two best options are closer than that error (its
  /// maximum).
  bool bfloat16_equal() const;
  /// A line of figures and a line for every changed decision, for test output.
  std::string text() const;
};

/// `probabilities[i]` answers `golden[i]`. std::invalid_argument when their counts differ.
ParityReport compare(std::span<const GoldenQuestion> golden,
                     std::span<const std::vector<double>> probabilities);

}  // namespace d3::test
