// checkpoint/config.h: config.json and decision_config.json as typed values. Field names are the files' own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace d3::checkpoint {

enum class LayerType { kLinearAttention, kFullAttention };

/// config.json: text_config.
struct TextConfig {
  int hidden_size = 0;
  int num_hidden_layers = 0;
  int intermediate_size = 0;
  int num_attention_heads = 0;
  int num_key_value_heads = 0;
  int head_dim = 256;
  int linear_num_key_heads = 0;
  int linear_num_value_heads = 0;
  int linear_key_head_dim = 128;
  int linear_value_head_dim = 128;
  int linear_conv_kernel_dim = 4;
  int vocab_size = 0;
  float rms_norm_eps = 1e-6F;
  int max_position_embeddings = 0;
  std::vector<LayerType> layer_types;  ///< num_hidden_layers of them
  double rope_theta = 10'000'000.0;    ///< rope_parameters.rope_theta
  int rotary_dim = 64;                 ///< head_dim * rope_parameters.partial_rotary_factor
  std::vector<int> mrope_section = {11, 11, 10};
};

/// config.json: vision_config.
struct VisionConfig {
  int hidden_size = 0;
  int depth = 0;
  int num_heads = 0;
  int intermediate_size = 0;
  int out_hidden_size = 0;
  int patch_size = 16;
  int temporal_patch_size = 2;
  int spatial_merge_size = 2;
  int in_channels = 3;
  int num_position_embeddings = 2304;
};

enum class AttentionMode { kCausal, kNoncausalFullAttention };
enum class ReadoutDtype { kFloat32, kBfloat16 };

/// decision_config.json.
struct DecisionConfig {
  AttentionMode attention_mode = AttentionMode::kCausal;
  double temperature = 1.0;
  ReadoutDtype readout_dtype = ReadoutDtype::kFloat32;
  std::optional<int> max_length;  ///< tokens of one question's prompt; none: no limit of the checkpoint's own
  std::vector<std::string> codes;  ///< 255
  std::vector<int32_t> token_ids;  ///< 255, distinct
};

struct Config {
  TextConfig text;
  std::optional<VisionConfig> vision;  ///< none when config.json has no vision_config
  int32_t image_token_id = -1;
  int32_t video_token_id = -1;
  int32_t vision_start_token_id = -1;
  int32_t vision_end_token_id = -1;
};

/// Read and check a file of a checkpoint directory; Error(kBadCheckpoint) names the file and the key.
Config read_config(const std::filesystem::path& directory);
DecisionConfig read_decision_config(const std::filesystem::path& directory);

}  // namespace d3::checkpoint
