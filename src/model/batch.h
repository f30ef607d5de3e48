// model/batch.h: what an executor is given and what it gives back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace d3::model {

/// Questions that start with the same tokens (those of one request). Every question's sequence is prefix +
/// its tail. The ids are borrowed: they must outlive the call that uses the batch.
struct QuestionGroup {
  std::span<const int32_t> prefix;              ///< may be empty
  std::vector<std::span<const int32_t>> tails;  ///< one per question, each non-empty
};

/// Whole sequences of different lengths, packed without padding.
struct PackedBatch {
  std::vector<QuestionGroup> groups;

  int64_t question_count() const {
    int64_t count = 0;
    for (const QuestionGroup& group : groups) count += static_cast<int64_t>(group.tails.size());
    return count;
  }
  /// Tokens of all sequences, the prefix counted for each question.
  int64_t token_count() const {
    int64_t count = 0;
    for (const QuestionGroup& group : groups)
      for (const auto& tail : group.tails) count += static_cast<int64_t>(group.prefix.size() + tail.size());
    return count;
  }
};

}  // namespace d3::model
