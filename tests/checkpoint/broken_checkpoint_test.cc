// Whole directories, each broken in one way: every kind is refused with one line that names the file and the
// tensor or key. The same files in memory are refused in the same words.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "checkpoint/answer_codes.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/refusal.h"
#include "support/checkpoint_writer.h"
#include "support/folder_in_memory.h"
#include "support/json_build.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::checkpoint {
namespace {

using test::CheckpointSpec;
using test::number;
using test::set_path;
using test::string;
using test::TensorSpec;

namespace fs = std::filesystem;

constexpr const char* kNorm = "language_model.norm.weight";
constexpr const char* kQueries = "language_model.layers.1.self_attn.q_proj.weight";

fs::path tokenizer() { return test::data_path("tokenizer-small"); }

/// A small checkpoint without a manifest, so that each file's own check is met.
CheckpointSpec micro() {
  CheckpointSpec spec = test::preset("micro", tokenizer());
  spec.manifest = false;
  return spec;
}

CheckpointSpec sharded() {
  CheckpointSpec spec = micro();
  spec.shards = 2;
  return spec;
}

/// Whether a directory holds files alone: what else there may be in one, memory cannot have.
bool holds_files_alone(const fs::path& directory) {
  return std::ranges::all_of(fs::directory_iterator(directory), [](const auto& entry) {
    return entry.is_regular_file() && !entry.is_symlink();
  });
}

/// Writes the checkpoint, lets `damage` change its directory and expects the refusal; `file` must lead the
/// message.
void expect_broken(const CheckpointSpec& spec, const std::function<void(const fs::path&)>& damage,
                   const std::string& file, Refusal refusal) {
  const test::TemporaryDirectory directory;
  test::write_checkpoint(spec, tokenizer(), directory.path());
  damage(directory.path());
  const std::string path = (directory.path() / file).string();
  refusal.message.insert(refusal.message.begin(), path + ": ");
  if (refusal.field.empty()) refusal.field = path;
  expect_refused(refusal, [&] { Checkpoint::open(directory.path()); });
  if (!holds_files_alone(directory.path())) return;
  const test::FolderInMemory memory(directory.path());
  expect_refused(refusal, [&] { Checkpoint::open(memory.folder()); });
}

void expect_broken(const CheckpointSpec& spec, const std::string& file, const Refusal& refusal) {
  expect_broken(
      spec, [](const fs::path&) {}, file, refusal);
}

void truncate_by(const fs::path& file, uint64_t bytes) { fs::resize_file(file, fs::file_size(file) - bytes); }

TEST(BrokenCheckpoint, NoDirectory) {
  for (const fs::path& path : {fs::path("/nonexistent/d3"), tokenizer() / "tokenizer.json"})
    expect_refused({path.string(), {path.string() + ": there is no such directory"}, ErrorCode::kNotFound},
                   [&] { Checkpoint::open(path); });
}

TEST(BrokenCheckpoint, MissingFiles) {
  for (const std::string file :
       {"config.json", "decision_config.json", "tokenizer.json", "tokenizer_config.json",
        "readout.safetensors", "preprocessor_config.json", "video_preprocessor_config.json"})
    expect_broken(micro(), [&](const fs::path& root) { fs::remove(root / file); }, file,
                  {"", {"file is missing"}});
  expect_broken(micro(), [](const fs::path& root) { fs::remove(root / "model.safetensors"); },
                "model.safetensors", {"", {"is missing, and there is no model.safetensors.index.json"}});
  const std::string shard = "model-00002-of-00002.safetensors";
  expect_broken(sharded(), [&](const fs::path& root) { fs::remove(root / shard); }, shard,
                {"", {"file is missing"}});
}

TEST(BrokenCheckpoint, FilesThatAreNoFiles) {
  for (const std::string file : {"config.json", "tokenizer.json", "model.safetensors"}) {
    const auto make_directory = [&](const fs::path& root) {
      fs::remove(root / file);
      fs::create_directory(root / file);
    };
    expect_broken(micro(), make_directory, file, {"", {"is not a regular file"}});
    const auto make_pipe = [&](const fs::path& root) {
      fs::remove(root / file);
      ASSERT_EQ(::mkfifo((root / file).c_str(), 0600), 0);
    };
    expect_broken(micro(), make_pipe, file, {"", {"is not a regular file"}});
    const auto make_dangling_link = [&](const fs::path& root) {
      fs::remove(root / file);
      fs::create_symlink("nowhere", root / file);
    };
    if (file != "model.safetensors")
      expect_broken(micro(), make_dangling_link, file, {"", {"file is missing"}});
  }
}

TEST(BrokenCheckpoint, UnreadableJson) {
  for (const std::string file : {"config.json", "decision_config.json", "preprocessor_config.json"})
    for (const char* text : {"", "{\"model_type\": ", "[1]"})
      expect_broken(micro(), [&](const fs::path& root) { test::write_file(root / file, text); }, file,
                    {"", {}});
  expect_broken(sharded(),
                [](const fs::path& root) { test::write_file(root / "model.safetensors.index.json", "{"); },
                "model.safetensors.index.json", {"", {}});
  CheckpointSpec with_manifest = micro();
  with_manifest.manifest = true;
  expect_broken(with_manifest,
                [](const fs::path& root) { test::write_file(root / "MODEL_MANIFEST.json", "{]"); },
                "MODEL_MANIFEST.json", {"", {}});
  expect_broken(micro(),
                [](const fs::path& root) { fs::create_symlink("nowhere", root / "MODEL_MANIFEST.json"); },
                "MODEL_MANIFEST.json", {"", {"file is missing"}});
}

TEST(BrokenCheckpoint, OversizedJson) {
  expect_broken(micro(),
                [](const fs::path& root) { fs::resize_file(root / "config.json", 64 * 1024 * 1024 + 1); },
                "config.json", {"", {"has 67108865 bytes; at most 67108864 are read"}});
}

TEST(BrokenCheckpoint, KeysOfTheConfigurations) {
  CheckpointSpec spec = micro();
  set_path(spec.config, "text_config.hidden_size", number(0));
  expect_broken(spec, "config.json", {"text_config.hidden_size", {"text_config.hidden_size is 0"}});
  spec = micro();
  set_path(spec.config, "text_config.head_dim", number(64));
  expect_broken(spec, "config.json",
                {"text_config.head_dim", {"text_config.head_dim is 64"}, ErrorCode::kUnsupported});
  spec = micro();
  set_path(spec.decision_config, "temperature", number(0));
  expect_broken(spec, "decision_config.json", {"temperature", {"temperature is 0; expected"}});
  spec = micro();
  set_path(spec.decision_config, "attention_mode", string("sideways"));
  expect_broken(spec, "decision_config.json",
                {"attention_mode", {"attention_mode is \"sideways\"; expected"}});
  spec = micro();
  test::at_path(spec.decision_config, "token_ids").as_array()[17] = number(1984);
  expect_broken(spec, "decision_config.json",
                {"token_ids[17]", {"token_ids[17] is 1984; the vocabulary has 1984 tokens"}});
}

TEST(BrokenCheckpoint, TruncatedWeights) {
  // The last tensor of the file loses a byte.
  const auto cut = [](const fs::path& root) { truncate_by(root / "model.safetensors", 1); };
  expect_broken(micro(), cut, "model.safetensors",
                {"visual.merger.linear_fc2.bias", {"tensor \"visual.merger.linear_fc2.bias\" ends at byte"}});
  const auto half = [](const fs::path& root) { fs::resize_file(root / "model.safetensors", 100'000); };
  expect_broken(micro(), half, "model.safetensors",
                {"language_model.embed_tokens.weight",
                 {"tensor \"language_model.embed_tokens.weight\" ends at byte",
                  "but the file has 100000: it is truncated"}});
  const auto header = [](const fs::path& root) { fs::resize_file(root / "model.safetensors", 1000); };
  expect_broken(micro(), header, "model.safetensors", {"", {"is truncated: its header has"}});
  const auto empty = [](const fs::path& root) { fs::resize_file(root / "model.safetensors", 0); };
  expect_broken(micro(), empty, "model.safetensors", {"", {"is truncated: 0 bytes"}});
  const auto readout = [](const fs::path& root) { truncate_by(root / "readout.safetensors", 4); };
  expect_broken(micro(), readout, "readout.safetensors", {"weight", {"tensor \"weight\" ends at byte"}});
  const std::string shard = "model-00002-of-00002.safetensors";
  const auto second = [&](const fs::path& root) { truncate_by(root / shard, 2); };
  expect_broken(sharded(), second, shard, {"visual.merger.linear_fc2.bias", {"it is truncated"}});
}

TEST(BrokenCheckpoint, BytesAfterTheWeights) {
  const auto grow = [](const fs::path& root) {
    const fs::path file = root / "model.safetensors";
    fs::resize_file(file, fs::file_size(file) + 8);
  };
  expect_broken(micro(), grow, "model.safetensors", {"", {"its tensors end at byte"}});
}

TEST(BrokenCheckpoint, MissingTensors) {
  CheckpointSpec spec = micro();
  spec.erase_tensor(kNorm);
  expect_broken(spec, "model.safetensors",
                {kNorm, {"tensor \"language_model.norm.weight\" is missing; config.json calls for [32]"}});
  spec.prefix = "model.";
  expect_broken(
      spec, "model.safetensors",
      {"model.language_model.norm.weight", {"tensor \"model.language_model.norm.weight\" is missing"}});
  spec = sharded();
  spec.erase_tensor(kQueries);
  expect_broken(spec, "model.safetensors.index.json",
                {kQueries, {"is missing; config.json calls for [512, 32]"}});
  spec = micro();
  spec.tensors.clear();
  expect_broken(spec, "model.safetensors",
                {"language_model.embed_tokens.weight", {"is missing, as are", "more"}});
  // A part of the vision tower is not a checkpoint without one.
  spec = micro();
  spec.erase_tensor("visual.pos_embed.weight");
  expect_broken(spec, "model.safetensors", {"visual.pos_embed.weight", {"is missing"}});
  spec = micro();
  spec.readout.clear();
  expect_broken(spec, "readout.safetensors",
                {"weight", {"tensor \"weight\" is missing; expected F32 [255, 32]"}});
}

TEST(BrokenCheckpoint, ExtraTensors) {
  const auto with = [](const TensorSpec& extra) {
    CheckpointSpec spec = micro();
    spec.tensors.push_back(extra);
    return spec;
  };
  expect_broken(with({"lm_head.weight", "BF16", {8, 32}, 1, 0, "a"}), "model.safetensors",
                {"lm_head.weight", {"tensor \"lm_head.weight\" is not a part of a decision model"}});
  expect_broken(
      with({"language_model.layers.2.input_layernorm.weight", "BF16", {32}, 1, 0, "a"}), "model.safetensors",
      {"language_model.layers.2.input_layernorm.weight",
       {"tensor \"language_model.layers.2.input_layernorm.weight\" (BF16 [32]) is one that config.json does "
        "not call for"}});
  expect_broken(with({"visual.blocks.0.norm3.weight", "F32", {2, 3}, 1, 0, "a"}), "model.safetensors",
                {"visual.blocks.0.norm3.weight", {"(F32 [2, 3]) is one that config.json does not call for"}});
  CheckpointSpec spec = micro();
  test::erase_path(spec.config, "vision_config");
  expect_broken(spec, "model.safetensors",
                {"visual.blocks.0.attn.proj.bias", {"config.json does not call for"}});
  spec = micro();
  spec.readout.push_back({"bias", "F32", {255}, 1, 0, "a"});
  expect_broken(spec, "readout.safetensors",
                {"bias", {"tensor \"bias\" is unknown; expected \"weight\" alone"}});
}

TEST(BrokenCheckpoint, WrongShapes) {
  CheckpointSpec spec = micro();
  spec.tensor(kQueries).shape = {256, 32};
  expect_broken(
      spec, "model.safetensors",
      {kQueries,
       {"tensor \"" + std::string(kQueries) + "\" has shape [256, 32]; config.json calls for [512, 32]"}});
  spec = micro();
  spec.tensor("language_model.layers.0.linear_attn.conv1d.weight").shape = {384, 4};
  expect_broken(spec, "model.safetensors",
                {"language_model.layers.0.linear_attn.conv1d.weight",
                 {"has shape [384, 4]; config.json calls for [384, 1, 4]"}});
  spec = micro();
  spec.tensor("visual.patch_embed.proj.weight").shape = {32, 1536};
  expect_broken(
      spec, "model.safetensors",
      {"visual.patch_embed.proj.weight", {"has shape [32, 1536]; config.json calls for [32, 3, 2, 16, 16]"}});
  spec = sharded();
  spec.tensor("visual.merger.norm.bias").shape = {16, 2};
  expect_broken(spec, "model-00002-of-00002.safetensors", {"visual.merger.norm.bias", {"has shape [16, 2]"}});
  spec = micro();
  spec.readout[0].shape = {254, 32};
  expect_broken(spec, "readout.safetensors", {"weight", {"has shape [254, 32]; expected [255, 32]"}});
  spec.readout[0].shape = {32, 255};
  expect_broken(spec, "readout.safetensors", {"weight", {"has shape [32, 255]; expected [255, 32]"}});
}

TEST(BrokenCheckpoint, WrongDtypes) {
  CheckpointSpec spec = micro();
  spec.readout[0].dtype = "BF16";
  expect_broken(spec, "readout.safetensors", {"weight", {"tensor \"weight\" has dtype BF16; expected F32"}});
  // I16 has BF16's size, so only the name of the type is wrong.
  const auto retype = [](const fs::path& root) {
    const fs::path file = root / "model.safetensors";
    std::string bytes = test::read_file(file);
    const std::string entry = "\"language_model.norm.weight\":{\"dtype\":\"BF16\"";
    bytes.replace(bytes.find(entry), entry.size(), "\"language_model.norm.weight\":{\"dtype\":\"I16\" ");
    test::write_file(file, bytes);
  };
  expect_broken(micro(), retype, "model.safetensors",
                {kNorm, {"tensor \"language_model.norm.weight\" has dtype I16; expected BF16, F16 or F32"}});
}

TEST(BrokenCheckpoint, MixedPrefixes) {
  CheckpointSpec spec = micro();
  spec.tensor(kNorm).name = "model.language_model.norm.weight";
  expect_broken(
      spec, "model.safetensors",
      {"model.language_model.norm.weight",
       {"tensor \"model.language_model.norm.weight\" mixes prefixes with tensor \"language_model."}});
  spec = micro();
  for (TensorSpec& tensor : spec.tensors)
    if (tensor.name.starts_with("visual.")) tensor.name = "model." + tensor.name;
  expect_broken(spec, "model.safetensors",
                {"model.visual.patch_embed.proj.weight", {"mixes prefixes with tensor \"language_model."}});
  // The same tensor under both names.
  spec = micro();
  spec.tensors.push_back({"model.language_model.norm.weight", "BF16", {32}, 1, 0, "a"});
  expect_broken(spec, "model.safetensors", {"model.language_model.norm.weight", {"mixes prefixes"}});
}

/// Sets a key of the index's weight_map.
std::function<void(const fs::path&)> remap(const std::string& tensor, const json::Value& shard) {
  return [=](const fs::path& root) {
    const fs::path file = root / "model.safetensors.index.json";
    const std::string text = test::read_file(file);
    const std::string key = "\"" + tensor + "\": ";
    const size_t at = text.find(key);
    ASSERT_NE(at, std::string::npos);
    const size_t end = text.find_first_of(",\n", at);
    test::write_file(file, text.substr(0, at) + key + test::dump_json(shard, 0) + text.substr(end));
  };
}

TEST(BrokenCheckpoint, IndexAndShardsDisagree) {
  const std::string index = "model.safetensors.index.json";
  const std::string first = "model-00001-of-00002.safetensors", second = "model-00002-of-00002.safetensors";
  expect_broken(sharded(), remap(kNorm, string(second)), first,
                {kNorm, {"tensor \"language_model.norm.weight\" is not listed for this file in " + index}});
  for (const char* name :
       {"../model-00001-of-00002.safetensors", "/etc/passwd", "", "sub/x.safetensors", ".."})
    expect_broken(sharded(), remap(kNorm, string(name)), index,
                  {"weight_map \"language_model.norm.weight\"", {"expected the name of a file"}});
  expect_broken(sharded(), remap(kNorm, number(1)), index,
                {"weight_map \"language_model.norm.weight\"", {"is 1; expected the name of a file"}});
  expect_broken(sharded(), remap(kNorm, string("other.safetensors")), "other.safetensors",
                {"", {"file is missing"}});
  const auto rename = [&](const fs::path& root) {
    const std::string text = test::read_file(root / index);
    const size_t at = text.find(kNorm);
    test::write_file(root / index, text.substr(0, at) + "language_model.norm.extra" +
                                       text.substr(at + std::string(kNorm).size()));
  };
  expect_broken(sharded(), rename, first, {kNorm, {"is not listed for this file"}});
  const auto add = [&](const fs::path& root) {
    const std::string text = test::read_file(root / index);
    const size_t at = text.find("\"language_model.norm.weight\"");
    test::write_file(root / index, text.substr(0, at) + "\"language_model.norm.extra\": \"" + first + "\", " +
                                       text.substr(at));
  };
  expect_broken(sharded(), add, first,
                {"language_model.norm.extra",
                 {"tensor \"language_model.norm.extra\" is missing; " + index + " lists it"}});
  const auto no_map = [&](const fs::path& root) { test::write_file(root / index, "{\"metadata\": {}}"); };
  expect_broken(sharded(), no_map, index, {"weight_map", {"weight_map is missing"}});
  const auto empty_map = [&](const fs::path& root) {
    test::write_file(root / index, "{\"weight_map\": {}}");
  };
  expect_broken(sharded(), empty_map, index, {"language_model.embed_tokens.weight", {"is missing"}});
}

TEST(BrokenCheckpoint, ManifestMismatch) {
  CheckpointSpec spec = micro();
  spec.manifest = true;
  const auto flip = [](const fs::path& root) {
    std::string bytes = test::read_file(root / "model.safetensors");
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    test::write_file(root / "model.safetensors", bytes);
  };
  expect_broken(spec, flip, "model.safetensors", {"", {"has SHA-256", "MODEL_MANIFEST.json says"}});
  const auto shorten = [](const fs::path& root) { truncate_by(root / "chat_template.jinja", 1); };
  expect_broken(spec, shorten, "chat_template.jinja", {"", {"has 744 bytes; MODEL_MANIFEST.json says 745"}});
  const auto lose = [](const fs::path& root) { fs::remove(root / "vocab.json"); };
  expect_broken(spec, lose, "vocab.json", {"", {"is listed in MODEL_MANIFEST.json, but"}});

  // Unverified, a changed weight is not noticed.
  const test::TemporaryDirectory directory;
  test::write_checkpoint(spec, tokenizer(), directory.path());
  flip(directory.path());
  EXPECT_EQ(Checkpoint::open(directory.path(), Verify::kNone).model_name(), "d3-micro");
}

TEST(BrokenCheckpoint, ATokenizerWithTokensBeyondTheVocabulary) {
  const text::Tokenizer vocabulary = text::Tokenizer::load(tokenizer());
  const int tokens = vocabulary.vocab_size();
  CheckpointSpec spec = micro();
  set_path(spec.config, "text_config.vocab_size", number(tokens - 1));
  spec.tensor("language_model.embed_tokens.weight").shape = {tokens - 1, 32};
  const test::TemporaryDirectory directory;
  test::write_checkpoint(spec, tokenizer(), directory.path());
  const Checkpoint checkpoint = Checkpoint::open(directory.path());
  const std::string file = (directory.path() / "tokenizer.json").string();
  expect_refused(
      {file, {file + ": has " + std::to_string(tokens) + " tokens; config.json's text_config.vocab_size is"}},
      [&] { check_answer_codes(checkpoint, vocabulary); });
}

TEST(BrokenCheckpoint, CodesThatTheTokenizerDoesNotGive) {
  const text::Tokenizer vocabulary = text::Tokenizer::load(tokenizer());
  const auto check = [&](const CheckpointSpec& spec, const Refusal& refusal) {
    const test::TemporaryDirectory directory;
    test::write_checkpoint(spec, tokenizer(), directory.path());
    const Checkpoint checkpoint = Checkpoint::open(directory.path());
    if (refusal.field.empty()) {
      EXPECT_NO_THROW(check_answer_codes(checkpoint, vocabulary));
      return;
    }
    Refusal expected = refusal;
    expected.message.insert(expected.message.begin(),
                            (directory.path() / "decision_config.json").string() + ": ");
    expect_refused(expected, [&] { check_answer_codes(checkpoint, vocabulary); });
  };
  check(micro(), {});
  CheckpointSpec spec = micro();
  test::at_path(spec.decision_config, "codes").as_array()[26] = string("AB");
  check(spec, {"codes[26]", {"codes[26] is \"AB\"; the tokenizer gives \"AA\""}});
  spec = micro();
  test::at_path(spec.decision_config, "token_ids").as_array()[0] = number(0);
  check(spec, {"token_ids[0]", {"token_ids[0] is 0; the tokenizer gives 32 for code \"A\""}});
}

}  // namespace
}  // namespace d3::checkpoint
