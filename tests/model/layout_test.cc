#include "model/layout.h"

#include <vector>

#include <gtest/gtest.h>

namespace d3::model {
namespace {

class LayoutTest : public ::testing::Test {
 protected:
  std::span<const int32_t> ids(size_t count) const { return std::span(ids_).first(count); }

  std::vector<int32_t> ids_ = std::vector<int32_t>(100, 7);
  // Two questions on a prefix of 10; one question alone; two without a prefix.
  PackedBatch batch_{{{ids(10), {ids(3), ids(4)}}, {ids(5), {ids(6)}}, {ids(0), {ids(2), ids(1)}}}};
};

TEST_F(LayoutTest, CountsQuestionsAndTokens) {
  EXPECT_EQ(batch_.question_count(), 5);
  EXPECT_EQ(batch_.token_count(), 13 + 14 + 11 + 2 + 1);
}

TEST_F(LayoutTest, SharedLayoutStoresPrefixesOnce) {
  const SharedLayout layout = shared_layout(batch_);
  EXPECT_EQ(layout.rows, 17 + 11 + 3);
  ASSERT_EQ(layout.trees.size(), 3U);
  EXPECT_EQ(layout.trees[0].prefix.rows, 10);
  EXPECT_EQ(layout.trees[0].tails[1].first, 13);
  EXPECT_EQ(layout.trees[1].prefix.rows, 0);
  EXPECT_EQ(layout.trees[1].tails[0].rows, 11);
  EXPECT_EQ(layout.trees[2].tails[1].first, 30);
}

TEST_F(LayoutTest, ExpansionRepeatsPrefixes) {
  const SharedLayout shared = shared_layout(batch_);
  const QuestionLayout questions = question_layout(batch_);
  EXPECT_EQ(questions.rows, batch_.token_count());
  EXPECT_EQ(questions.longest, 14);
  std::vector<int64_t> source(static_cast<size_t>(questions.rows), -1);
  for (const RowCopy& copy : expansion(shared, questions))
    for (int64_t i = 0; i < copy.rows; ++i) source[static_cast<size_t>(copy.to + i)] = copy.from + i;
  const std::vector<int64_t> second_question = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14, 15, 16};
  for (size_t i = 0; i < second_question.size(); ++i) EXPECT_EQ(source[13 + i], second_question[i]);
  for (const int64_t row : source) EXPECT_GE(row, 0);
  EXPECT_EQ(source.back(), 30);
}

TEST_F(LayoutTest, NothingIsCopiedWithoutSharing) {
  const QuestionLayout questions = question_layout(batch_);
  EXPECT_TRUE(expansion(shared_layout(batch_, false), questions).empty());
  const auto trees = as_trees(questions);
  ASSERT_EQ(trees.size(), 5U);
  EXPECT_EQ(trees[1].tails[0].first, 13);
  EXPECT_EQ(trees[1].prefix.rows, 0);
}

}  // namespace
}  // namespace d3::model
