#include "checkpoint/config.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "checkpoint/fields.h"
#include "checkpoint/file.h"
#include "checkpoint/messages.h"
#include "json/number.h"

namespace d3::checkpoint {
namespace {

// Bounds far beyond the published sizes (5120 wide, 64 layers, 248,320 tokens), small enough that no product
// of sizes here or in the kernels overflows 64 bits.
constexpr int kMaxWidth = 1 << 17;
constexpr int kMaxIntermediate = 1 << 20;
constexpr int kMaxLayers = 1024;
constexpr int kMaxHeads = 1024;
constexpr int kMaxInt = std::numeric_limits<int>::max();

void require_supported(const Fields& fields, std::string_view key, int value, int supported) {
  if (value != supported) throw fields.unsupported(key, std::to_string(supported));
}

void require_supported(const Fields& fields, std::string_view key, std::string_view supported) {
  if (fields.text_or(key, supported) != supported)
    throw fields.unsupported(key, fmt::format("\"{}\"", supported));
}

void require_multiple(const Fields& fields, std::string_view key, int value, std::string_view of_key,
                      int of) {
  if (value % of != 0) throw fields.unexpected(key, fmt::format("a multiple of {}, {}", of_key, of));
}

void read_sizes(const Fields& fields, TextConfig& text) {
  text.hidden_size = fields.integer("hidden_size", 1, kMaxWidth);
  text.num_hidden_layers = fields.integer("num_hidden_layers", 1, kMaxLayers);
  text.intermediate_size = fields.integer("intermediate_size", 1, kMaxIntermediate);
  text.vocab_size = fields.integer("vocab_size", kCodeCount, kMaxVocabulary);
  text.max_position_embeddings =
      fields.integer_or("max_position_embeddings", text.max_position_embeddings, 1, kMaxInt);

  text.num_attention_heads = fields.integer("num_attention_heads", 1, kMaxHeads);
  text.num_key_value_heads = fields.integer("num_key_value_heads", 1, kMaxHeads);
  require_multiple(fields, "num_attention_heads", text.num_attention_heads, "num_key_value_heads",
                   text.num_key_value_heads);
  text.head_dim = fields.integer_or("head_dim", text.head_dim, 1, kMaxInt);
  require_supported(fields, "head_dim", text.head_dim, 256);

  text.linear_num_key_heads = fields.integer("linear_num_key_heads", 1, kMaxHeads);
  text.linear_num_value_heads = fields.integer("linear_num_value_heads", 1, kMaxHeads);
  require_multiple(fields, "linear_num_value_heads", text.linear_num_value_heads, "linear_num_key_heads",
                   text.linear_num_key_heads);
  text.linear_key_head_dim = fields.integer_or("linear_key_head_dim", text.linear_key_head_dim, 1, kMaxInt);
  text.linear_value_head_dim =
      fields.integer_or("linear_value_head_dim", text.linear_value_head_dim, 1, kMaxInt);
  text.linear_conv_kernel_dim =
      fields.integer_or("linear_conv_kernel_dim", text.linear_conv_kernel_dim, 1, kMaxInt);
  require_supported(fields, "linear_key_head_dim", text.linear_key_head_dim, 128);
  require_supported(fields, "linear_value_head_dim", text.linear_value_head_dim, 128);
  require_supported(fields, "linear_conv_kernel_dim", text.linear_conv_kernel_dim, 4);
}

std::vector<LayerType> read_layer_types(const Fields& fields, int layers) {
  std::vector<LayerType> types;
  if (fields.find("layer_types") == nullptr) {
    const int interval = fields.integer_or("full_attention_interval", 4, 1, kMaxInt);
    for (int layer = 0; layer < layers; ++layer)
      types.push_back((layer + 1) % interval == 0 ? LayerType::kFullAttention : LayerType::kLinearAttention);
    return types;
  }
  const json::Array& names = fields.array("layer_types");
  if (names.size() != static_cast<size_t>(layers))
    throw fields.error("layer_types",
                       fmt::format("has {} items; expected num_hidden_layers, {}", names.size(), layers));
  for (const json::Value& name : names) {
    if (name.is_string() && name.as_string() == "full_attention") {
      types.push_back(LayerType::kFullAttention);
    } else if (name.is_string() && name.as_string() == "linear_attention") {
      types.push_back(LayerType::kLinearAttention);
    } else {
      throw fields.error(
          fmt::format("layer_types[{}]", types.size()),
          fmt::format("is {}; expected \"linear_attention\" or \"full_attention\"", shown(name)));
    }
  }
  return types;
}

void read_rotary(const Fields& fields, TextConfig& text) {
  // Older files have `rope_scaling` beside a `rope_theta` of text_config's own.
  std::optional<Fields> found = fields.object_if_present("rope_parameters");
  if (!found) found = fields.object_if_present("rope_scaling");
  const Fields& rope = found ? *found : fields;
  if (found) {
    require_supported(rope, rope.find("rope_type") != nullptr ? "rope_type" : "type", "default");
    if (!rope.boolean_or("mrope_interleaved", true)) throw rope.unsupported("mrope_interleaved", "true");
  }
  const auto holder = [&](std::string_view key) -> const Fields& {
    return rope.find(key) == nullptr && fields.find(key) != nullptr ? fields : rope;
  };

  const Fields& theta = holder("rope_theta");
  text.rope_theta = theta.number("rope_theta");
  if (text.rope_theta < 1.0 || text.rope_theta > 1e12)
    throw theta.unexpected("rope_theta", "a number from 1 to 1e12");

  const Fields& factor_holder = holder("partial_rotary_factor");
  const double factor = factor_holder.number_or("partial_rotary_factor", 0.25);
  if (!(factor > 0.0 && factor <= 1.0))
    throw factor_holder.unexpected("partial_rotary_factor", "a number in (0, 1]");
  text.rotary_dim = static_cast<int>(text.head_dim * factor);
  if (text.rotary_dim < 2 || text.rotary_dim % 2 != 0)
    throw factor_holder.unexpected("partial_rotary_factor",
                                   fmt::format("an even share of head_dim, {}", text.head_dim));

  if (rope.find("mrope_section") != nullptr)
    text.mrope_section = rope.integers("mrope_section", 0, kMaxWidth);
  const int sum = std::accumulate(text.mrope_section.begin(), text.mrope_section.end(), 0);
  if (text.mrope_section.size() != 3 || sum != text.rotary_dim / 2)
    throw rope.error("mrope_section",
                     fmt::format("is [{}]; expected three sizes whose sum is half the rotary size, {}",
                                 fmt::join(text.mrope_section, ", "), text.rotary_dim / 2));
}

TextConfig read_text(const Fields& fields) {
  TextConfig text;
  if (fields.text_or("model_type", "qwen3_5_text") != "qwen3_5_text")
    throw fields.unsupported("model_type", "\"qwen3_5_text\"");
  read_sizes(fields, text);
  require_supported(fields, "hidden_act", "silu");
  if (fields.boolean_or("attention_bias", false)) throw fields.unsupported("attention_bias", "false");
  const double eps = fields.number_or("rms_norm_eps", 1e-6);
  if (!(eps > 0.0 && eps < 1.0)) throw fields.unexpected("rms_norm_eps", "a number between 0 and 1");
  text.rms_norm_eps = static_cast<float>(eps);
  text.layer_types = read_layer_types(fields, text.num_hidden_layers);
  read_rotary(fields, text);
  return text;
}

VisionConfig read_vision(const Fields& fields, const TextConfig& text) {
  VisionConfig vision;
  vision.hidden_size = fields.integer("hidden_size", 1, kMaxWidth);
  vision.depth = fields.integer("depth", 1, kMaxLayers);
  vision.num_heads = fields.integer("num_heads", 1, kMaxHeads);
  require_multiple(fields, "hidden_size", vision.hidden_size, "4 * num_heads", 4 * vision.num_heads);
  vision.intermediate_size = fields.integer("intermediate_size", 1, kMaxIntermediate);
  vision.out_hidden_size = fields.integer("out_hidden_size", 1, kMaxWidth);
  if (vision.out_hidden_size != text.hidden_size)
    throw fields.unexpected("out_hidden_size", fmt::format("text_config.hidden_size, {}", text.hidden_size));
  vision.num_position_embeddings =
      fields.integer_or("num_position_embeddings", vision.num_position_embeddings, 1, kMaxIntermediate);
  const auto side = static_cast<int>(std::lround(std::sqrt(vision.num_position_embeddings)));
  if (side * side != vision.num_position_embeddings)
    throw fields.unexpected("num_position_embeddings", "a square");

  vision.patch_size = fields.integer_or("patch_size", vision.patch_size, 1, kMaxInt);
  vision.temporal_patch_size =
      fields.integer_or("temporal_patch_size", vision.temporal_patch_size, 1, kMaxInt);
  vision.spatial_merge_size = fields.integer_or("spatial_merge_size", vision.spatial_merge_size, 1, kMaxInt);
  vision.in_channels = fields.integer_or("in_channels", vision.in_channels, 1, kMaxInt);
  require_supported(fields, "patch_size", vision.patch_size, 16);
  require_supported(fields, "temporal_patch_size", vision.temporal_patch_size, 2);
  require_supported(fields, "spatial_merge_size", vision.spatial_merge_size, 2);
  require_supported(fields, "in_channels", vision.in_channels, 3);
  require_supported(fields, "hidden_act", "gelu_pytorch_tanh");
  if (fields.find("deepstack_visual_indexes") != nullptr && !fields.array("deepstack_visual_indexes").empty())
    throw fields.unsupported("deepstack_visual_indexes", "[]");
  return vision;
}

int32_t read_token_id(const Fields& fields, std::string_view key, const Config& config) {
  if (!config.vision && fields.find(key) == nullptr) return -1;
  return fields.integer(key, 0, config.text.vocab_size - 1);
}

void require_numbers(const Fields& fields, std::string_view key, double expected) {
  if (fields.find(key) == nullptr) return;
  for (const json::Value& item : fields.array(key))
    if (!item.is_number() || json::to_double(item.as_number()) != expected)
      throw fields.unsupported(key, fmt::format("{} for every channel", expected));
}

}  // namespace

Config parse_config(std::string_view text, const std::filesystem::path& file) {
  const json::Value root = parse_object(text, file);
  const Fields fields(root, file);
  if (fields.text("model_type") != "qwen3_5") throw fields.unsupported("model_type", "\"qwen3_5\"");
  if (fields.find("quantization_config") != nullptr)
    throw fields.unsupported("quantization_config", "weights as BF16, F16 or F32");
  Config config;
  config.text = read_text(fields.object("text_config"));
  if (const std::optional<Fields> vision = fields.object_if_present("vision_config"))
    config.vision = read_vision(*vision, config.text);
  config.image_token_id = read_token_id(fields, "image_token_id", config);
  config.video_token_id = read_token_id(fields, "video_token_id", config);
  config.vision_start_token_id = read_token_id(fields, "vision_start_token_id", config);
  config.vision_end_token_id = read_token_id(fields, "vision_end_token_id", config);
  return config;
}

void check_preprocessor(std::string_view text, const std::filesystem::path& file) {
  const json::Value root = parse_object(text, file);
  const Fields fields(root, file);
  require_supported(fields, "patch_size", fields.integer_or("patch_size", 16, 1, kMaxInt), 16);
  require_supported(fields, "temporal_patch_size", fields.integer_or("temporal_patch_size", 2, 1, kMaxInt),
                    2);
  require_supported(fields, "merge_size", fields.integer_or("merge_size", 2, 1, kMaxInt), 2);
  require_supported(fields, "resample", fields.integer_or("resample", 3, 0, kMaxInt), 3);
  require_numbers(fields, "image_mean", 0.5);
  require_numbers(fields, "image_std", 0.5);
}

Config read_config(const Folder& folder) {
  constexpr const char* kName = "config.json";
  return parse_config(read_text_file(folder, kName, kMaxJsonBytes), folder.path() / kName);
}

void check_preprocessors(const Folder& folder) {
  for (const char* name : {"preprocessor_config.json", "video_preprocessor_config.json"})
    check_preprocessor(read_text_file(folder, name, kMaxJsonBytes), folder.path() / name);
}

}  // namespace d3::checkpoint
