#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "checkpoint/sha256.h"
#include "json/parse.h"
#include "support/checkpoint_writer.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::test {
namespace {

class GoldenPreset : public ::testing::TestWithParam<const char*> {};

// The manifest holds the size and SHA-256 of every file the reference was run on, so equal manifests mean
// equal checkpoints.
TEST_P(GoldenPreset, IsWrittenByteForByte) {
  const std::filesystem::path tokenizer = data_path("tokenizer-small");
  const TemporaryDirectory out;
  write_checkpoint(preset(GetParam(), tokenizer), tokenizer, out.path());
  const std::string golden = read_file(data_path(std::string("golden/manifest-") + GetParam() + ".json"));
  EXPECT_EQ(read_file(out.path() / "MODEL_MANIFEST.json"), golden);
  const json::Value manifest = json::parse(golden);
  for (const json::Member& file : manifest.find("files_sha256")->as_object())
    EXPECT_EQ(checkpoint::to_hex(checkpoint::sha256_of_file(out.path() / file.key)), file.value.as_string())
        << file.key;
}

INSTANTIATE_TEST_SUITE_P(Presets, GoldenPreset, ::testing::Values("tiny", "tiny-irregular", "tiny-causal"),
                         [](const auto& info) { return preset_test_name(info.param); });

}  // namespace
}  // namespace d3::test
