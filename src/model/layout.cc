#include "model/layout.h"

#include <algorithm>

namespace d3::model {

SharedLayout shared_layout(const PackedBatch& batch, bool share) {
  SharedLayout layout;
  const auto append = [&layout](size_t rows) {
    const RowRun run{layout.rows, static_cast<int64_t>(rows)};
    layout.rows = run.end();
    return run;
  };
  for (const QuestionGroup& group : batch.groups) {
    if (share && group.tails.size() > 1) {
      SequenceTree tree{append(group.prefix.size()), {}};
      for (const auto& tail : group.tails) tree.tails.push_back(append(tail.size()));
      layout.trees.push_back(std::move(tree));
    } else {
      for (const auto& tail : group.tails)
        layout.trees.push_back({{}, {append(group.prefix.size() + tail.size())}});
    }
  }
  return layout;
}

QuestionLayout question_layout(const PackedBatch& batch) {
  QuestionLayout layout;
  for (const QuestionGroup& group : batch.groups) {
    for (const auto& tail : group.tails) {
      const RowRun run{layout.rows, static_cast<int64_t>(group.prefix.size() + tail.size())};
      layout.questions.push_back(run);
      layout.rows = run.end();
      layout.longest = std::max(layout.longest, run.rows);
    }
  }
  return layout;
}

std::vector<SequenceTree> as_trees(const QuestionLayout& layout) {
  std::vector<SequenceTree> trees;
  trees.reserve(layout.questions.size());
  for (const RowRun& run : layout.questions) trees.push_back({{}, {run}});
  return trees;
}

std::vector<RowCopy> expansion(const SharedLayout& shared, const QuestionLayout& questions) {
  std::vector<RowCopy> copies;
  if (shared.rows == questions.rows) return copies;
  int64_t to = 0;
  const auto copy = [&](const RowRun& run) {
    if (run.rows > 0) copies.push_back({run.first, to, run.rows});
    to += run.rows;
  };
  for (const SequenceTree& tree : shared.trees) {
    for (const RowRun& tail : tree.tails) {
      copy(tree.prefix);
      copy(tail);
    }
  }
  return copies;
}

}  // namespace d3::model
