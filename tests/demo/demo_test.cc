// The model inside the program: its files are those of models/demo, and they open as a directory's do.
#include "demo/demo.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/answer_codes.h"
#include "checkpoint/checkpoint.h"
#include "engine/load.h"
#include "support/file_content.h"
#include "test_paths.h"
#include "text/tokenizer.h"

namespace d3::demo {
namespace {

namespace fs = std::filesystem;

const fs::path kDirectory = fs::path(D3_SOURCE_DIR) / "models" / "demo";
constexpr size_t kMostBytes = 12'000'000;

TEST(Demo, HoldsTheFilesOfItsDirectory) {
  const Folder folder = demo::folder();
  EXPECT_TRUE(folder.embedded());
  EXPECT_EQ(folder.path(), kName);
  size_t bytes = 0;
  for (const EmbeddedFile& file : folder.files()) {
    SCOPED_TRACE(file.name);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(file.bytes.data()) % 64, 0U);
    const std::string content = test::content_of(kDirectory / file.name);
    EXPECT_TRUE(std::ranges::equal(file.bytes, std::as_bytes(std::span(content))));
    bytes += file.bytes.size();
  }
  EXPECT_LE(bytes, kMostBytes);
  EXPECT_TRUE(folder.find("config.json").has_value());
  EXPECT_FALSE(folder.find("README.md").has_value()) << "the model card is not part of the checkpoint";
  EXPECT_FALSE(folder.find("missing").has_value());
}

TEST(Demo, IsAWholeCheckpoint) {
  const auto checkpoint = checkpoint::Checkpoint::open(demo::folder(), checkpoint::Verify::kFull);
  EXPECT_EQ(checkpoint.model_name(), kName);
  EXPECT_TRUE(checkpoint.has_vision());
  EXPECT_EQ(checkpoint.decision().attention_mode, checkpoint::AttentionMode::kNoncausalFullAttention);
  EXPECT_NO_THROW(checkpoint::check_answer_codes(checkpoint, text::Tokenizer::load(demo::folder())));
  const auto from_disk = checkpoint::Checkpoint::open(kDirectory, checkpoint::Verify::kFull);
  EXPECT_EQ(from_disk.config().text.layer_types, checkpoint.config().text.layer_types);
}

TEST(Demo, SaysThatItIsADemonstration) {
  EXPECT_THAT(std::string(kDescription), testing::HasSubstr("demonstration"));
  EXPECT_THAT(std::string(kDescription), testing::HasSubstr("d3-nano"));
}

TEST(Demo, AnswersAsItsDirectoryDoes) {
  const auto probabilities = [](const Folder& folder) {
    engine::LoadOptions options;
    options.directory = folder;
    options.dtype = cpu::Dtype::kFloat32;
    options.threads = 1;
    const auto model = engine::load_model(options);
    auto request = std::make_shared<decision::Request>();
    request->state = "The goalkeeper saved the second shot.";
    request->questions = {{.id = "q",
                           .type = decision::QuestionType::kChoice,
                           .instructions = "What is it about?",
                           .options = {{"sport", "sport"}, {"food", "food"}},
                           .legend = {}}};
    return model->answer(model->preparer().prepare(request)).at(0).probabilities;
  };
  EXPECT_EQ(probabilities(demo::folder()), probabilities(kDirectory));
}

}  // namespace
}  // namespace d3::demo
