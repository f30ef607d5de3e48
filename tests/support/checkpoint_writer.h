// tests/support/checkpoint_writer.h: writes checkpoint directories with random weights: the golden data's own
// presets byte for byte, and any other small one for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace d3::test {

/// A tensor to write: noise(seed, ...) in the shape's order, stored as `dtype` "BF16", "F16" or "F32".
struct TensorSpec {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  float scale = 0;
  float centre = 0;
  std::string seed;
};

/// A checkpoint to write. Tests change it before they write it.
struct CheckpointSpec {
  std::string name;  ///< in the manifest: model_name is d3-<name>
  json::Value config;
  json::Value decision_config;
  std::vector<TensorSpec> tensors;  ///< names without `prefix`, in file order
  std::string prefix;               ///< "" or "model."
  int shards = 1;                   ///< more than one: an index and that many files
  std::vector<TensorSpec> readout;
  bool manifest = true;

  /// The tensor of that name; std::out_of_range when there is none.
  TensorSpec& tensor(std::string_view name);
  void erase_tensor(std::string_view name);
};

/// "tiny", "tiny-irregular" and "tiny-causal" of the golden data, byte for byte; "micro": two layers and a
/// vision tower of one block, half a megabyte. `tokenizer_directory` holds codes.json, which has the answer
/// codes, the special tokens and the size of the vocabulary. std::out_of_range for another name.
CheckpointSpec preset(std::string_view name, const std::filesystem::path& tokenizer_directory);

/// The preset's name as a test's parameter name: letters, digits and underscores.
std::string preset_test_name(std::string_view preset);

/// Writes the checkpoint; the tokenizer's files (all of its directory but codes.json) are copied. The
/// directory is made; files in it are replaced.
void write_checkpoint(const CheckpointSpec& spec, const std::filesystem::path& tokenizer_directory,
                      const std::filesystem::path& directory);

/// Writes one safetensors file: names, header padded with spaces to a multiple of 8, tensors without gaps.
/// Returns the bytes of the tensors.
int64_t write_safetensors(const std::filesystem::path& path, const std::vector<TensorSpec>& tensors);

/// Writes a safetensors file of any header text and data bytes.
void write_raw_safetensors(const std::filesystem::path& path, std::string_view header, std::string_view data);

void write_file(const std::filesystem::path& path, std::string_view bytes);
std::string read_file(const std::filesystem::path& path);

}  // namespace d3::test
