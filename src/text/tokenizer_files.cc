#include "text/tokenizer_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/added_token_rules.h"
#include "text/json_reader.h"
#include "text/quote.h"
#include "text/qwen_split.h"

namespace d3::text {
namespace {

// The pattern of a ByteLevel step with use_regex, GPT-2's.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

void refuse_unknown_keys(const JsonNode& node, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : node.object())
    if (std::find(known.begin(), known.end(), key) == known.end())
      node.child(value, key).refuse("is not understood");
}

void read_vocab(const JsonNode& vocab, BpeSource& out) {
  const auto object = vocab.object();
  out.vocab.reserve(object.size());
  for (const auto& [key, value] : object) {
    int64_t id = 0;
    if (value.get(id) || id < 0 || id > INT32_MAX) vocab.child(value, key).refuse("is not a token id");
    out.vocab.emplace_back(key, static_cast<int32_t>(id));
  }
}

// A merge is ["a", "b"] or "a b".
void read_merges(const JsonNode& merges, BpeSource& out) {
  const auto array = merges.array();
  out.merges.reserve(array.size());
  size_t index = 0;
  for (const auto value : array) {
    std::string_view left, right;
    simdjson::dom::array pair;
    bool understood = false;
    if (!value.get(pair)) {
      understood = pair.size() == 2 && !pair.at(0).get(left) && !pair.at(1).get(right);
    } else if (!value.get(left)) {
      const size_t space = left.find(' ');
      understood = space != left.npos && left.find(' ', space + 1) == left.npos;
      if (understood) {
        right = left.substr(space + 1);
        left = left.substr(0, space);
      }
    }
    if (!understood || left.empty() || right.empty())
      merges.child(value, index).refuse("is not a pair of tokens");
    out.merges.emplace_back(left, right);
    ++index;
  }
}

void require_absent_or_empty(const JsonNode& model, std::string_view key) {
  if (const auto found = model.find(key); found && !found->string().empty())
    found->refuse("is not supported");
}

// What only counts when the class takes everything from the file. unk_token, fuse_unk and byte_fallback never
// matter: every byte has a token.
void read_model_options(const JsonNode& model, BpeSource& out) {
  refuse_unknown_keys(
      model, {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
              "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (const auto dropout = model.find("dropout")) dropout->refuse("is not supported");
  require_absent_or_empty(model, "continuing_subword_prefix");
  require_absent_or_empty(model, "end_of_word_suffix");
  out.ignore_merges = model.flag("ignore_merges", false);
}

bool read_normalizer(const std::optional<JsonNode>& normalizer) {
  if (!normalizer) return false;
  const auto type = normalizer->at("type").string();
  if (type == "NFC") return true;
  if (type != "Sequence")
    normalizer->at("type").refuse(fmt::format("{} is not supported; NFC is", in_quotes(type)));
  bool nfc = false;
  const JsonNode list = normalizer->at("normalizers");
  size_t index = 0;
  for (const auto value : list.array()) nfc |= read_normalizer(list.child(value, index++));
  return nfc;
}

SplitStep read_split(const JsonNode& node) {
  refuse_unknown_keys(node, {"type", "pattern", "behavior", "invert"});
  const JsonNode behavior = node.at("behavior");
  if (behavior.string() != "Isolated") behavior.refuse("is not 'Isolated', which alone is supported");
  if (node.flag("invert", false)) node.at("invert").refuse("is not supported");
  return {.pattern = std::string(node.at("pattern").at("Regex").string())};
}

SplitStep read_byte_level(const JsonNode& node) {
  refuse_unknown_keys(node, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
  SplitStep step{.prefix_space = node.flag("add_prefix_space", true)};
  if (node.flag("use_regex", true)) step.pattern = kByteLevelPattern;
  return step;
}

// `Split` steps and, at the end, the `ByteLevel` that makes bytes of the pieces.
std::vector<SplitStep> read_pre_tokenizer(const JsonNode& node) {
  std::vector<JsonNode> parts;
  if (node.at("type").string() == "Sequence") {
    const JsonNode list = node.at("pretokenizers");
    size_t index = 0;
    for (const auto value : list.array()) parts.push_back(list.child(value, index++));
  } else {
    parts.push_back(node);
  }
  std::vector<SplitStep> steps;
  for (size_t i = 0; i < parts.size(); ++i) {
    const JsonNode type = parts[i].at("type");
    const bool last = i + 1 == parts.size();
    if (type.string() == "Split" && !last) {
      steps.push_back(read_split(parts[i]));
    } else if (type.string() == "ByteLevel" && last) {
      steps.push_back(read_byte_level(parts[i]));
    } else {
      type.refuse(fmt::format("{} is not supported here; a pre_tokenizer is Split steps and then ByteLevel",
                              in_quotes(type.string())));
    }
  }
  if (steps.empty()) node.refuse("has no ByteLevel step");
  return steps;
}

std::string_view class_of(const JsonNode& config) {
  const auto found = config.find("tokenizer_class");
  if (!found) return "Qwen3_5Tokenizer";
  std::string_view name = found->string();
  if (name.ends_with("Fast")) name.remove_suffix(4);
  return name;
}

}  // namespace

TokenizerDescription describe_tokenizer(const simdjson::padded_string& tokenizer_json,
                                        const simdjson::padded_string& tokenizer_config) {
  TokenizerDescription out;
  simdjson::dom::parser config_parser;
  const JsonNode file = JsonNode::parse(out.parser, tokenizer_json, "tokenizer.json");
  const JsonNode config = JsonNode::parse(config_parser, tokenizer_config, "tokenizer_config.json");

  const JsonNode model = file.at("model");
  if (model.at("type").string() != "BPE") model.at("type").refuse("is not 'BPE'");
  read_vocab(model.at("vocab"), out.model);
  read_merges(model.at("merges"), out.model);

  const std::string_view name = class_of(config);
  const bool own_rules = name == "Qwen2Tokenizer" || name == "Qwen3_5Tokenizer";
  if (own_rules) {
    out.nfc = true;
    out.steps.push_back({.pattern = std::string(name == "Qwen2Tokenizer" ? kQwen2Pattern : kQwen35Pattern)});
    if (config.flag("add_prefix_space", false)) out.steps.push_back({.prefix_space = true});
  } else {
    refuse_unknown_keys(file, {"version", "truncation", "padding", "added_tokens", "normalizer",
                               "pre_tokenizer", "post_processor", "decoder", "model"});
    read_model_options(model, out.model);
    out.nfc = read_normalizer(file.find("normalizer"));
    out.steps = read_pre_tokenizer(file.at("pre_tokenizer"));
  }
  out.split_special_tokens = config.flag("split_special_tokens", false);
  const AddedTokenRules rules = name == "Qwen2Tokenizer" ? AddedTokenRules::kQwen2
                                : own_rules              ? AddedTokenRules::kQwen35
                                                         : AddedTokenRules::kFile;
  out.added_tokens = resolve_added_tokens(file, config, rules, out.model);
  return out;
}

}  // namespace d3::text
