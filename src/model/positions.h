// model/positions.h: where tokens stand on the three axes of the rotary embedding (mrope).
#pragma once

#include <cstdint>
#include <vector>

#include "model/batch.h"

namespace d3::model {

/// A token's place in time, row and column. Text counts up on all three.
struct Position {
  int32_t time = 0;
  int32_t row = 0;
  int32_t column = 0;

  bool is_text() const { return time == row && time == column; }
  bool operator==(const Position&) const = default;
};

/// The positions of a prefix, and the one its tails go on counting from.
struct PrefixPositions {
  std::vector<Position> tokens;  ///< as many as the prefix has
  int32_t next = 0;
};

/// A block that begins at position p has time p, rows from p and columns from p; the token after it stands at
/// p + max(rows, columns). Each pair of a video's frames is a block (Wang et al., "Qwen2-VL", 2024,
/// section 2.1, with the interleaved videos of Qwen3-VL). Throws Error(kInvalidArgument) for a block that is
/// empty, not inside the prefix or not after the one before it.
PrefixPositions prefix_positions(const QuestionGroup& group);

/// Position `axis` of the interleaved sections that rotary frequency i turns by: rows for i % 3 == 1 and
/// columns for i % 3 == 2, as long as their section (mrope_section[1] and [2] frequencies) lasts, else time.
int32_t rotary_axis(const Position& position, int frequency, const std::vector<int>& mrope_section);

}  // namespace d3::model
