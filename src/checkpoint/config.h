// checkpoint/config.h: config.json, decision_config.json and the media preprocessors' files as typed values.
// Field names are the files' own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder.h"

namespace d3::checkpoint {

enum class LayerType { kLinearAttention, kFullAttention };

/// config.json: text_config. Values given here are those of a file without the key; the others are required.
struct TextConfig {
  int hidden_size = 0;
  int num_hidden_layers = 0;
  int intermediate_size = 0;
  int num_attention_heads = 0;  ///< a multiple of num_key_value_heads
  int num_key_value_heads = 0;
  int head_dim = 256;
  int linear_num_key_heads = 0;
  int linear_num_value_heads = 0;  ///< a multiple of linear_num_key_heads
  int linear_key_head_dim = 128;
  int linear_value_head_dim = 128;
  int linear_conv_kernel_dim = 4;
  int vocab_size = 0;
  float rms_norm_eps = 1e-6F;
  int max_position_embeddings = 32768;
  /// num_hidden_layers of them. A file without them has full attention in every `full_attention_interval`-th
  /// (4th) layer.
  std::vector<LayerType> layer_types;
  double rope_theta = 0;  ///< rope_parameters.rope_theta, or text_config's own in older files
  int rotary_dim = 64;    ///< head_dim * rope_parameters.partial_rotary_factor (0.25); even
  std::vector<int> mrope_section = {11, 11, 10};  ///< sums to rotary_dim / 2
};

/// config.json: vision_config.
struct VisionConfig {
  int hidden_size = 0;  ///< num_heads times a multiple of 4
  int depth = 0;
  int num_heads = 0;
  int intermediate_size = 0;
  int out_hidden_size = 0;  ///< the text model's hidden_size
  int patch_size = 16;
  int temporal_patch_size = 2;
  int spatial_merge_size = 2;
  int in_channels = 3;
  int num_position_embeddings = 2304;  ///< a square
};

enum class AttentionMode { kCausal, kNoncausalFullAttention };
enum class ReadoutDtype { kFloat32, kBfloat16 };

/// The largest vocabulary accepted; the published checkpoints have 248,320 tokens.
inline constexpr int kMaxVocabulary = 1 << 24;

/// Number of answer codes: the length of `codes` and `token_ids` and the readout's rows.
inline constexpr int kCodeCount = 255;

/// decision_config.json. Values given here are those of a file without the key; the others are required.
struct DecisionConfig {
  AttentionMode attention_mode = AttentionMode::kCausal;
  double temperature = 1.0;  ///< > 0 and within float32's normal range
  ReadoutDtype readout_dtype = ReadoutDtype::kFloat32;
  std::optional<int> max_length;  ///< tokens of one question's prompt; none: no limit of the checkpoint's own
  std::vector<std::string> codes;  ///< 255, distinct
  std::vector<int32_t> token_ids;  ///< 255, distinct
};

struct Config {
  TextConfig text;
  std::optional<VisionConfig> vision;  ///< none when config.json has no vision_config
  /// Required beside a vision_config; else -1 when absent.
  int32_t image_token_id = -1;
  int32_t video_token_id = -1;
  int32_t vision_start_token_id = -1;
  int32_t vision_end_token_id = -1;
};

/// Read and check a file of a checkpoint directory. Error(kBadCheckpoint) names the file and the key and
/// shows the value; Error(kUnsupported) does so for a valid value that no kernel here is made for (head
/// sizes, activations, rotary scaling).
Config read_config(const Folder& folder);
DecisionConfig read_decision_config(const Folder& folder);

/// Checks preprocessor_config.json and video_preprocessor_config.json, whose values media/ has built in:
/// patches of 16, 2 frames and merges of 2 x 2, bicubic resizing (`resample` 3), mean and deviation 0.5.
void check_preprocessors(const Folder& folder);

/// The same for a text; `file` is named in errors.
Config parse_config(std::string_view text, const std::filesystem::path& file);
DecisionConfig parse_decision_config(std::string_view text, const std::filesystem::path& file);
void check_preprocessor(std::string_view text, const std::filesystem::path& file);

}  // namespace d3::checkpoint
