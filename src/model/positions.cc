#include "model/positions.h"

#include <algorithm>

#include "base/error.h"

namespace d3::model {

PrefixPositions prefix_positions(const QuestionGroup& group) {
  PrefixPositions positions;
  const auto size = static_cast<int64_t>(group.prefix.size());
  positions.tokens.reserve(group.prefix.size());
  const auto append_text = [&](int64_t end) {
    while (static_cast<int64_t>(positions.tokens.size()) < end) {
      positions.tokens.push_back({positions.next, positions.next, positions.next});
      ++positions.next;
    }
  };
  for (const MediaBlock& block : group.media) {
    if (block.rows <= 0 || block.columns <= 0 || block.end() > size ||
        block.first < static_cast<int64_t>(positions.tokens.size()))
      throw Error(ErrorCode::kInvalidArgument, "a media block lies outside its prefix or over another");
    append_text(block.first);
    const int32_t start = positions.next;
    for (int row = 0; row < block.rows; ++row)
      for (int column = 0; column < block.columns; ++column)
        positions.tokens.push_back({start, start + row, start + column});
    positions.next = start + std::max(block.rows, block.columns);
  }
  append_text(size);
  return positions;
}

int32_t rotary_axis(const Position& position, int frequency, const std::vector<int>& mrope_section) {
  if (frequency % 3 == 1 && frequency < 3 * mrope_section[1]) return position.row;
  if (frequency % 3 == 2 && frequency < 3 * mrope_section[2]) return position.column;
  return position.time;
}

}  // namespace d3::model
