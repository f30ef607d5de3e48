// Prompts with images and videos against the reference: token ids, lengths, grids.
#include "engine/media_prompt.h"

#include <map>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/prepare.h"
#include "support/golden.h"
#include "support/golden_media_request.h"
#include "text/tokenizer.h"

namespace d3::engine {
namespace {

// As in the checkpoints that the golden answers belong to; golden-tiny.jsonl has these ids.
constexpr MediaTokens kTokens{.image_pad = 1909, .video_pad = 1910, .vision_start = 1906, .vision_end = 1907};

/// [pairs, rows and columns of patches] of a request's images or videos.
std::vector<std::array<int, 3>> grids(const PreparedRequest& request, bool videos) {
  std::vector<std::array<int, 3>> grids;
  for (const MediaPlace& place : request.media) {
    const MediaShape& shape = place.media->shape;
    if (shape.is_video() == videos && place.block == 0)
      grids.push_back({static_cast<int>(shape.blocks()), 2 * shape.rows, 2 * shape.columns});
  }
  return grids;
}

class GoldenPrompts : public testing::Test {
 protected:
  GoldenPrompts() : tokenizer_(text::Tokenizer::load(test::data_path("tokenizer-small"))) {
    for (auto& question : test::read_golden(test::data_path("golden/golden-tiny.jsonl")))
      if (question.has_media()) golden_[question.case_id + "/" + question.question] = std::move(question);
  }

  Preparer preparer(std::optional<int64_t> max_length = std::nullopt) const {
    std::vector<std::string> codes;
    for (char code = 'A'; code <= 'Z'; ++code) codes.emplace_back(1, code);
    return {[this](std::string_view text) { return tokenizer_.encode(text); }, codes, max_length,
            MediaParts{.tokens = kTokens}};
  }

  const text::Tokenizer tokenizer_;
  std::map<std::string, test::GoldenQuestion> golden_;
};

TEST_F(GoldenPrompts, AreEqual) {
  size_t questions = 0;
  const Preparer preparer = this->preparer();
  for (const test::GoldenCase& golden : test::read_golden_cases(test::data_path("golden/media.jsonl"))) {
    const PreparedRequest prepared = preparer.prepare(test::media_request(golden));
    for (size_t i = 0; i < prepared.tails.size(); ++i, ++questions) {
      SCOPED_TRACE(golden.id + "/" + prepared.request->questions[i].id);
      const test::GoldenQuestion& wanted = golden_.at(golden.id + "/" + prepared.request->questions[i].id);
      std::vector<int32_t> ids = prepared.head;
      ids.insert(ids.end(), prepared.tails[i].begin(), prepared.tails[i].end());
      EXPECT_EQ(ids, wanted.input_ids);
      EXPECT_EQ(prepared.question_tokens(i), wanted.tokens);
      EXPECT_EQ(grids(prepared, false), wanted.image_grid_thw);
      EXPECT_EQ(grids(prepared, true), wanted.video_grid_thw);
    }
    for (const MediaPlace& place : prepared.media)
      for (int64_t i = 0; i < place.media->shape.block_tokens(); ++i)
        ASSERT_EQ(prepared.head.at(static_cast<size_t>(place.first + i)),
                  place.media->shape.is_video() ? kTokens.video_pad : kTokens.image_pad);
  }
  EXPECT_EQ(questions, golden_.size());
  EXPECT_GE(questions, 51U);
}

TEST_F(GoldenPrompts, CountTowardsTheLimit) {
  auto request = std::make_shared<decision::Request>();
  request->state = "x";
  decision::Question question;
  question.id = "q";
  question.instructions = "?";
  question.options = {{"a", "a"}, {"b", "b"}};
  request->questions.push_back(std::move(question));
  request->images = {{.file = test::media_bytes("media/rgb.png")}};
  const int64_t tokens = preparer().prepare(request).question_tokens(0);
  EXPECT_NO_THROW(preparer(tokens).prepare(request));
  try {
    preparer(tokens - 1).prepare(request);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "questions.q");
    EXPECT_EQ(error.what(), "questions.q: the prompt has " + std::to_string(tokens) +
                                " tokens, the limit is " + std::to_string(tokens - 1));
  }
}

TEST(ExpandMedia, RefusesPadsThatAreNotTheMedias) {
  const auto image = std::make_shared<RequestMedia>();
  image->shape = {.rows = 1, .columns = 2};
  const auto none = [](std::string_view) { return std::vector<int32_t>(); };
  const std::vector<std::shared_ptr<RequestMedia>> media = {image};
  EXPECT_EQ(expand_media(std::vector<int32_t>{5, 1909, 6}, media, kTokens, none).ids,
            (std::vector<int32_t>{5, 1909, 1909, 6}));
  for (const std::vector<int32_t>& head : {std::vector<int32_t>{5}, {1910}, {1909, 1909}})
    EXPECT_THROW(expand_media(head, media, kTokens, none), Error);
}

}  // namespace
}  // namespace d3::engine
