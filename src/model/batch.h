// model/batch.h: what an executor is given and what it gives back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace d3::model {

/// The pad tokens of an image, or of one pair of a video's frames: rows x columns of them in a row in a
/// prefix, one per 2 x 2 patches, row by row. Each takes its feature in place of the pad's embedding.
struct MediaBlock {
  int64_t first = 0;  ///< index of the first pad in the prefix
  int rows = 0;
  int columns = 0;
  const float* features = nullptr;  ///< [rows * columns, hidden_size], borrowed as the ids are

  int64_t tokens() const { return static_cast<int64_t>(rows) * columns; }
  int64_t end() const { return first + tokens(); }
};

/// Questions that start with the same tokens (those of one request). Every question's sequence is prefix +
/// its tail. The ids are borrowed: they must outlive the call that uses the batch.
struct QuestionGroup {
  std::span<const int32_t> prefix;              ///< may be empty
  std::vector<std::span<const int32_t>> tails;  ///< one per question, each non-empty
  std::vector<MediaBlock> media = {};           ///< in the prefix's order
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
