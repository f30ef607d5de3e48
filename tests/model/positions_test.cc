#include "model/positions.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"

namespace d3::model {
namespace {

class PositionsTest : public ::testing::Test {
 protected:
  PrefixPositions positions(size_t prefix, std::vector<MediaBlock> media) const {
    return prefix_positions(
        {.prefix = std::span(ids_).first(prefix), .tails = {}, .media = std::move(media)});
  }

  std::vector<int32_t> ids_ = std::vector<int32_t>(100, 7);
};

TEST_F(PositionsTest, TextCountsUpOnAllAxes) {
  const PrefixPositions text = positions(3, {});
  EXPECT_EQ(text.tokens, (std::vector<Position>{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}}));
  EXPECT_EQ(text.next, 3);
  EXPECT_EQ(positions(0, {}).next, 0);
}

TEST_F(PositionsTest, ABlockSpreadsOverRowsAndColumns) {
  const PrefixPositions image = positions(9, {{.first = 2, .rows = 2, .columns = 3}});
  const std::vector<Position> expected = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, 2, 3}, {2, 2, 4},
                                          {2, 3, 2}, {2, 3, 3}, {2, 3, 4}, {5, 5, 5}};
  EXPECT_EQ(image.tokens, expected);
  EXPECT_EQ(image.next, 6);
}

TEST_F(PositionsTest, BlocksMayTouchAndEndThePrefix) {
  const PrefixPositions two =
      positions(8, {{.first = 0, .rows = 4, .columns = 1}, {.first = 4, .rows = 1, .columns = 4}});
  EXPECT_EQ(two.tokens[3], (Position{0, 3, 0}));
  EXPECT_EQ(two.tokens[4], (Position{4, 4, 4}));
  EXPECT_EQ(two.tokens[7], (Position{4, 4, 7}));
  EXPECT_EQ(two.next, 8);
}

TEST_F(PositionsTest, RefusesBlocksOutOfPlace) {
  EXPECT_THROW(positions(8, {{.first = 3, .rows = 2, .columns = 3}}), Error);
  EXPECT_THROW(positions(8, {{.first = -1, .rows = 1, .columns = 2}}), Error);
  EXPECT_THROW(positions(8, {{.first = 0, .rows = 0, .columns = 2}}), Error);
  EXPECT_THROW(positions(8, {{.first = 0, .rows = 2, .columns = 2}, {.first = 3, .rows = 1, .columns = 1}}),
               Error);
  EXPECT_THROW(positions(8, {{.first = 4, .rows = 1, .columns = 1}, {.first = 0, .rows = 1, .columns = 1}}),
               Error);
}

// Sections [11, 11, 10] of 32 frequencies: rows have 1, 4, .. 31, columns 2, 5, .. 29, time all others.
TEST_F(PositionsTest, FrequenciesInterleaveTheAxes) {
  const Position position{.time = 100, .row = 200, .column = 300};
  int rows = 0;
  int columns = 0;
  for (int i = 0; i < 32; ++i) {
    const int32_t axis = rotary_axis(position, i, {11, 11, 10});
    EXPECT_EQ(axis, i % 3 == 1 && i < 33 ? 200 : i % 3 == 2 && i < 30 ? 300 : 100) << i;
    rows += axis == 200 ? 1 : 0;
    columns += axis == 300 ? 1 : 0;
  }
  EXPECT_EQ(rows, 11);
  EXPECT_EQ(columns, 10);
}

}  // namespace
}  // namespace d3::model
