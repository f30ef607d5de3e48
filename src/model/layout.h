// model/layout.h: how a packed batch lies in rows, with the shared prefixes stored once or repeated per
// question.
#pragma once

#include <cstdint>
#include <vector>

#include "model/batch.h"

namespace d3::model {

/// Consecutive rows of an activation matrix.
struct RowRun {
  int64_t first = 0;
  int64_t rows = 0;
  int64_t end() const { return first + rows; }
};

/// A prefix and the sequences that continue it; the prefix may be empty.
struct SequenceTree {
  RowRun prefix;
  std::vector<RowRun> tails;
};

/// Rows while only causal layers have run: each prefix once, followed by its tails.
struct SharedLayout {
  std::vector<SequenceTree> trees;
  int64_t rows = 0;
};

/// Rows from the first layer that sees the whole prompt on: one run per question, prefix and tail together.
struct QuestionLayout {
  std::vector<RowRun> questions;
  int64_t rows = 0;
  int64_t longest = 0;  ///< tokens of the longest question
};

/// A group of one question becomes a tree without a prefix, so its rows lie the same way in both layouts.
/// share = false stores every question as a tree of its own.
SharedLayout shared_layout(const PackedBatch& batch, bool share = true);
QuestionLayout question_layout(const PackedBatch& batch);

/// The layout's questions as trees without prefixes.
std::vector<SequenceTree> as_trees(const QuestionLayout& layout);

/// A copy of rows that turns the shared layout into the question layout.
struct RowCopy {
  int64_t from = 0;
  int64_t to = 0;
  int64_t rows = 0;
};
/// Empty when both layouts are the same.
std::vector<RowCopy> expansion(const SharedLayout& shared, const QuestionLayout& questions);

}  // namespace d3::model
