#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "json/parse.h"
#include "support/checkpoint_writer.h"
#include "support/json_build.h"

namespace d3::test {
namespace {

struct TextSize {
  int hidden, layers, intermediate, heads, kv_heads, key_heads, value_heads;
  std::string layer_types;  ///< a letter a layer: l(inear) or f(ull)
};

struct VisionSize {
  int hidden, depth, heads, intermediate;
};

struct Decision {
  const char* attention_mode = "noncausal_full_attention";
  const char* temperature = "1.0";
  const char* readout_dtype = "float32";
  int max_length = 32768;
};

struct Preset {
  TextSize text;
  VisionSize vision;
  Decision decision;
  int shards = 1;
  const char* prefix = "";
};

Preset find_preset(std::string_view name) {
  if (name == "micro") return {{32, 2, 32, 1, 1, 1, 1, "lf"}, {32, 1, 2, 32}, {}};
  if (name == "tiny") return {{128, 8, 256, 2, 1, 1, 2, "lllflllf"}, {128, 2, 2, 256}, {}};
  if (name == "tiny-irregular")
    return {{192, 6, 320, 2, 2, 2, 2, "lfllfl"}, {144, 3, 2, 288}, {.temperature = "1.7"}};
  if (name == "tiny-causal")
    return {
        {128, 8, 256, 4, 2, 1, 3, "lllflllf"},
        {128, 2, 2, 256},
        {.attention_mode = "causal", .temperature = "0.8", .readout_dtype = "bfloat16", .max_length = 512},
        2,
        "model."};
  throw std::out_of_range("no preset " + std::string(name));
}

constexpr int kHeadDim = 256;
constexpr int kDeltaHeadDim = 128;

json::Value text_config(const TextSize& size, const json::Value& codes) {
  json::Array layer_types;
  for (const char type : size.layer_types)
    layer_types.push_back(string(type == 'f' ? "full_attention" : "linear_attention"));
  return object({
      {"model_type", string("qwen3_5_text")},
      {"hidden_size", number(size.hidden)},
      {"num_hidden_layers", number(size.layers)},
      {"intermediate_size", number(size.intermediate)},
      {"num_attention_heads", number(size.heads)},
      {"num_key_value_heads", number(size.kv_heads)},
      {"head_dim", number(kHeadDim)},
      {"hidden_act", string("silu")},
      {"linear_num_key_heads", number(size.key_heads)},
      {"linear_num_value_heads", number(size.value_heads)},
      {"linear_key_head_dim", number(kDeltaHeadDim)},
      {"linear_value_head_dim", number(kDeltaHeadDim)},
      {"linear_conv_kernel_dim", number(4)},
      {"rms_norm_eps", number_text("1e-06")},
      {"max_position_embeddings", number(262144)},
      {"attention_bias", boolean(false)},
      {"full_attention_interval", number(4)},
      {"layer_types", array(std::move(layer_types))},
      {"rope_parameters", object({{"rope_type", string("default")},
                                  {"rope_theta", number(10'000'000)},
                                  {"partial_rotary_factor", number_text("0.25")},
                                  {"mrope_interleaved", boolean(true)},
                                  {"mrope_section", array({number(11), number(11), number(10)})}})},
      {"tie_word_embeddings", boolean(true)},
      {"dtype", string("bfloat16")},
      {"vocab_size", *codes.find("vocab_size")},
      {"eos_token_id", *codes.find("special")->find("<|endoftext|>")},
  });
}

json::Value vision_config(const VisionSize& size, int out) {
  return object({{"model_type", string("qwen3_5_vision")},
                 {"hidden_size", number(size.hidden)},
                 {"depth", number(size.depth)},
                 {"num_heads", number(size.heads)},
                 {"intermediate_size", number(size.intermediate)},
                 {"out_hidden_size", number(out)},
                 {"patch_size", number(16)},
                 {"spatial_merge_size", number(2)},
                 {"temporal_patch_size", number(2)},
                 {"in_channels", number(3)},
                 {"num_position_embeddings", number(2304)},
                 {"hidden_act", string("gelu_pytorch_tanh")},
                 {"deepstack_visual_indexes", array({})}});
}

json::Value model_config(const Preset& preset, const json::Value& codes) {
  const json::Value& special = *codes.find("special");
  return object({{"architectures", array({string("Qwen3_5Model")})},
                 {"model_type", string("qwen3_5")},
                 {"dtype", string("bfloat16")},
                 {"text_config", text_config(preset.text, codes)},
                 {"vision_config", vision_config(preset.vision, preset.text.hidden)},
                 {"image_token_id", *special.find("<|image_pad|>")},
                 {"video_token_id", *special.find("<|video_pad|>")},
                 {"vision_start_token_id", *special.find("<|vision_start|>")},
                 {"vision_end_token_id", *special.find("<|vision_end|>")},
                 {"tie_word_embeddings", boolean(true)},
                 {"transformers_version", string("5.17.0")}});
}

json::Value decision_config(const Decision& decision, const json::Value& codes) {
  return object({{"format_version", number(1)},
                 {"format_id", string("d3-code-readout-v1")},
                 {"prompt", string("d3")},
                 {"pooling", string("last")},
                 {"codes", *codes.find("codes")},
                 {"token_ids", *codes.find("token_ids")},
                 {"attention_mode", string(decision.attention_mode)},
                 {"temperature", number_text(decision.temperature)},
                 {"readout_dtype", string(decision.readout_dtype)},
                 {"max_length", number(decision.max_length)}});
}

/// Collects tensors; scales are computed in double and rounded once.
class TensorList {
 public:
  void add(const std::string& name, std::vector<int64_t> shape, double scale, double centre) {
    tensors_.push_back(
        {name, "BF16", std::move(shape), static_cast<float>(scale), static_cast<float>(centre), name});
  }
  void linear(const std::string& name, int64_t out, int64_t in, double gain = 1.0) {
    add(name, {out, in}, gain / std::sqrt(static_cast<double>(in)), 0.0);
  }
  std::vector<TensorSpec> take() { return std::move(tensors_); }

 private:
  std::vector<TensorSpec> tensors_;
};

void add_full_attention(TensorList& list, const std::string& at, const TextSize& size, double depth_gain) {
  const int64_t queries = int64_t{size.heads} * kHeadDim, keys = int64_t{size.kv_heads} * kHeadDim;
  list.linear(at + "q_proj.weight", 2 * queries, size.hidden);
  list.linear(at + "k_proj.weight", keys, size.hidden);
  list.linear(at + "v_proj.weight", keys, size.hidden);
  list.linear(at + "o_proj.weight", size.hidden, queries, 3.0 * depth_gain);
  list.add(at + "q_norm.weight", {kHeadDim}, 0.2, 0.8);
  list.add(at + "k_norm.weight", {kHeadDim}, 0.2, 0.8);
}

void add_linear_attention(TensorList& list, const std::string& at, const TextSize& size, double depth_gain) {
  const int64_t values = int64_t{size.value_heads} * kDeltaHeadDim;
  const int64_t channels = int64_t{2} * size.key_heads * kDeltaHeadDim + values;
  list.linear(at + "in_proj_qkv.weight", channels, size.hidden);
  list.linear(at + "in_proj_z.weight", values, size.hidden);
  list.linear(at + "in_proj_b.weight", size.value_heads, size.hidden);
  list.linear(at + "in_proj_a.weight", size.value_heads, size.hidden);
  list.add(at + "conv1d.weight", {channels, 1, 4}, 0.5, 0.0);
  list.add(at + "A_log", {size.value_heads}, 0.8, 0.5);
  list.add(at + "dt_bias", {size.value_heads}, 1.2, -2.5);
  list.add(at + "norm.weight", {kDeltaHeadDim}, 0.1, 1.0);
  list.linear(at + "out_proj.weight", size.hidden, values, 3.0 * depth_gain);
}

void add_text(TensorList& list, const TextSize& size, int64_t vocab) {
  list.add("language_model.embed_tokens.weight", {vocab, size.hidden}, 0.5, 0.0);
  list.add("language_model.norm.weight", {size.hidden}, 0.2, 0.0);
  const double depth_gain = 1.0 / std::sqrt(2.0 * size.layers);
  for (int layer = 0; layer < size.layers; ++layer) {
    const std::string at = "language_model.layers." + std::to_string(layer) + ".";
    list.add(at + "input_layernorm.weight", {size.hidden}, 0.2, 0.0);
    list.add(at + "post_attention_layernorm.weight", {size.hidden}, 0.2, 0.0);
    list.linear(at + "mlp.gate_proj.weight", size.intermediate, size.hidden);
    list.linear(at + "mlp.up_proj.weight", size.intermediate, size.hidden);
    list.linear(at + "mlp.down_proj.weight", size.hidden, size.intermediate, 2.5 * depth_gain);
    if (size.layer_types.at(static_cast<size_t>(layer)) == 'f')
      add_full_attention(list, at + "self_attn.", size, depth_gain);
    else
      add_linear_attention(list, at + "linear_attn.", size, depth_gain);
  }
}

void add_vision(TensorList& list, const VisionSize& size, int64_t out) {
  const int64_t c = size.hidden, merged = 4 * c;
  const auto biased = [&](const std::string& name, int64_t rows, int64_t columns, double gain, double bias) {
    list.linear(name + ".weight", rows, columns, gain);
    list.add(name + ".bias", {rows}, bias, 0.0);
  };
  const auto layer_norm = [&](const std::string& name) {
    list.add(name + ".weight", {c}, 0.1, 1.0);
    list.add(name + ".bias", {c}, 0.1, 0.0);
  };
  list.add("visual.patch_embed.proj.weight", {c, 3, 2, 16, 16}, 1.0 / std::sqrt(1536.0), 0.0);
  list.add("visual.patch_embed.proj.bias", {c}, 0.1, 0.0);
  list.add("visual.pos_embed.weight", {2304, c}, 0.3, 0.0);
  for (int block = 0; block < size.depth; ++block) {
    const std::string at = "visual.blocks." + std::to_string(block) + ".";
    layer_norm(at + "norm1");
    layer_norm(at + "norm2");
    biased(at + "attn.qkv", 3 * c, c, 1.0, 0.1);
    biased(at + "attn.proj", c, c, 0.5, 0.05);
    biased(at + "mlp.linear_fc1", size.intermediate, c, 1.0, 0.1);
    biased(at + "mlp.linear_fc2", c, size.intermediate, 0.5, 0.05);
  }
  layer_norm("visual.merger.norm");
  biased("visual.merger.linear_fc1", merged, merged, 1.0, 0.1);
  biased("visual.merger.linear_fc2", out, merged, 1.0, 0.05);
}

}  // namespace

std::string preset_test_name(std::string_view preset) {
  std::string name(preset);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

CheckpointSpec preset(std::string_view name, const std::filesystem::path& tokenizer_directory) {
  const Preset preset = find_preset(name);
  const json::Value codes = json::parse(read_file(tokenizer_directory / "codes.json"));
  CheckpointSpec spec;
  spec.name = name;
  spec.config = model_config(preset, codes);
  spec.decision_config = decision_config(preset.decision, codes);
  spec.prefix = preset.prefix;
  spec.shards = preset.shards;
  TensorList list;
  add_text(list, preset.text, std::stoll(codes.find("vocab_size")->as_number().text));
  add_vision(list, preset.vision, preset.text.hidden);
  spec.tensors = list.take();
  spec.readout = {{"weight",
                   "F32",
                   {255, preset.text.hidden},
                   static_cast<float>(2.5 / std::sqrt(static_cast<double>(preset.text.hidden))),
                   0.0F,
                   "readout"}};
  return spec;
}

}  // namespace d3::test
