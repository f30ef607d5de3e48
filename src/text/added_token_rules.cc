#include "text/added_token_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "text/quote.h"

namespace d3::text {
namespace {

// An added token of a file, with the place it came from and the id it has there (-1: none given).
struct Listed {
  AddedToken token;
  int64_t id = -1;
  JsonNode from;
};

AddedToken read_token(const JsonNode& node) {
  AddedToken token;
  token.content = std::string(node.at("content").string());
  token.special = node.flag("special", false);
  token.lstrip = node.flag("lstrip", false);
  token.rstrip = node.flag("rstrip", false);
  token.normalized = node.flag("normalized", !token.special);
  if (node.flag("single_word", false)) node.at("single_word").refuse("is not supported");
  return token;
}

AddedToken plain_special(std::string_view content) {
  return {.content = std::string(content), .special = true};
}

std::vector<Listed> read_added_tokens(const JsonNode& tokenizer_json) {
  std::vector<Listed> out;
  const auto list = tokenizer_json.find("added_tokens");
  if (!list) return out;
  size_t index = 0;
  for (const auto value : list->array()) {
    const JsonNode node = list->child(value, index++);
    out.push_back({read_token(node), node.at("id").integer(), node});
  }
  return out;
}

std::vector<Listed> read_decoder(const JsonNode& decoder) {
  std::map<int64_t, Listed> by_id;
  for (const auto& [key, value] : decoder.object()) {
    const JsonNode node = decoder.child(value, key);
    int64_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc{} || end != key.data() + key.size() || id < 0) node.refuse("is not a token id");
    by_id.insert_or_assign(id, Listed{read_token(node), id, node});
  }
  std::vector<Listed> out;
  for (auto& [id, listed] : by_id) out.push_back(std::move(listed));
  return out;
}

// A token named by a string or by an object with its flags.
Listed read_named(const JsonNode& node) {
  if (node.is_string()) return {plain_special(node.string()), -1, node};
  Listed listed{read_token(node), -1, node};
  listed.token.special = true;
  return listed;
}

struct SpecialTokens {
  std::vector<Listed> named;  // eos_token and the like
  std::vector<Listed> extra;
};

constexpr std::string_view kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};

void read_named_object(const JsonNode& object, std::vector<Listed>& out) {
  for (const auto& [key, value] : object.object()) out.push_back(read_named(object.child(value, key)));
}

SpecialTokens read_special_tokens(const JsonNode& config, bool own_rules) {
  SpecialTokens out;
  simdjson::dom::element present;
  for (const std::string_view name : kNames) {
    if (const auto found = config.find(name)) {
      out.named.push_back(read_named(*found));
    } else if (own_rules && (name == "unk_token" || name == "eos_token" || name == "pad_token") &&
               config.object().at_key(name).get(present)) {
      out.named.push_back(
          {plain_special("<|endoftext|>"), -1, config});  // the class's default for a missing key
    }
  }
  for (const auto& [key, value] : config.object()) {
    const bool standard = std::find(std::begin(kNames), std::end(kNames), key) != std::end(kNames);
    if (key.ends_with("_token") && !standard && (value.is_string() || value.is_object()))
      out.named.push_back(read_named(config.child(value, key)));
  }
  if (const auto specific = config.find("model_specific_special_tokens"))
    read_named_object(*specific, out.named);
  auto extra = config.find("extra_special_tokens");
  if (!extra) extra = config.find("additional_special_tokens");
  if (extra && extra->is_object()) {
    read_named_object(*extra, out.named);
  } else if (extra) {
    size_t index = 0;
    for (const auto value : extra->array()) out.extra.push_back(read_named(extra->child(value, index++)));
  }
  return out;
}

// Adds tokens one by one and gives them their ids.
class Registry {
 public:
  Registry(const BpeSource& model, const std::vector<std::string_view>& contents)
      : vocab_size_(static_cast<int64_t>(model.vocab.size())) {
    std::array<bool, 256> first_bytes{};  // spares most lookups
    for (const std::string_view content : contents) {
      if (content.empty()) continue;
      vocab_ids_.emplace(content, -1);
      first_bytes[static_cast<unsigned char>(content[0])] = true;
    }
    for (const auto& [spelling, id] : model.vocab) {
      if (spelling.empty() || !first_bytes[static_cast<unsigned char>(spelling[0])]) continue;
      if (const auto wanted = vocab_ids_.find(spelling); wanted != vocab_ids_.end()) wanted->second = id;
    }
  }

  void add(const Listed& listed) {
    if (listed.token.content.empty()) return;
    const auto known = std::find_if(tokens_.begin(), tokens_.end(),
                                    [&](const AddedToken& t) { return t.content == listed.token.content; });
    const int64_t id = known != tokens_.end() ? known->id : id_of(listed.token.content);
    if (listed.id >= 0 && listed.id != id)
      listed.from.refuse(fmt::format("has the id {}, but {} would get the id {}", listed.id,
                                     in_quotes(listed.token.content), id));
    if (id >= kMaxId) listed.from.refuse(fmt::format("would get the id {}, which is too large", id));
    AddedToken token = listed.token;
    token.id = static_cast<int32_t>(id);
    largest_ = std::max(largest_, id);
    if (known == tokens_.end()) {
      tokens_.push_back(std::move(token));
    } else {
      token.special = token.special || known->special;  // once special, always special
      *known = std::move(token);
    }
  }

  bool has(std::string_view content) const {
    return std::any_of(tokens_.begin(), tokens_.end(),
                       [&](const AddedToken& t) { return t.content == content; });
  }

  bool has(const AddedToken& token) const {
    return std::any_of(tokens_.begin(), tokens_.end(), [&](AddedToken t) {
      t.id = token.id;
      return t == token;
    });
  }

  std::vector<AddedToken> take() { return std::move(tokens_); }

 private:
  static constexpr int64_t kMaxId = int64_t{1} << 30;

  int64_t id_of(const std::string& content) const {
    const auto in_vocab = vocab_ids_.find(content);
    if (in_vocab != vocab_ids_.end() && in_vocab->second >= 0) return in_vocab->second;
    return std::max(vocab_size_, largest_ + 1);
  }

  int64_t vocab_size_;
  int64_t largest_ = -1;
  std::unordered_map<std::string_view, int64_t>
      vocab_ids_;  // of the contents asked for; -1: not in the vocabulary
  std::vector<AddedToken> tokens_;
};

}  // namespace

std::vector<AddedToken> resolve_added_tokens(const JsonNode& tokenizer_json, const JsonNode& tokenizer_config,
                                             AddedTokenRules rules, const BpeSource& model) {
  const std::vector<Listed> from_file = read_added_tokens(tokenizer_json);
  const auto decoder_node = tokenizer_config.find("added_tokens_decoder");
  std::vector<Listed> decoder = decoder_node ? read_decoder(*decoder_node) : from_file;
  std::stable_sort(decoder.begin(), decoder.end(),
                   [](const Listed& a, const Listed& b) { return a.id < b.id; });
  const SpecialTokens special = read_special_tokens(tokenizer_config, rules != AddedTokenRules::kFile);

  std::vector<std::string_view> contents;
  for (const auto* list : {&from_file, &std::as_const(decoder), &special.named, &special.extra})
    for (const Listed& listed : *list) contents.push_back(listed.token.content);
  Registry registry(model, contents);

  if (rules == AddedTokenRules::kFile)
    for (const Listed& listed : from_file) registry.add(listed);
  const auto is_named = [&](const std::string& content) {
    return std::any_of(special.named.begin(), special.named.end(),
                       [&](const Listed& named) { return named.token.content == content; });
  };
  for (Listed& listed : decoder) {
    if (registry.has(listed.token)) continue;
    listed.token.special = listed.token.special || is_named(listed.token.content);
    registry.add(listed);
  }
  for (const auto* list : {&special.named, &special.extra})
    for (const Listed& listed : *list)
      if (!registry.has(listed.token.content)) registry.add(listed);
  if (rules == AddedTokenRules::kQwen2)  // this class adds its special tokens once more, with plain flags
    for (const auto* list : {&special.named, &special.extra})
      for (const Listed& listed : *list) registry.add({plain_special(listed.token.content), -1, listed.from});
  return registry.take();
}

}  // namespace d3::text
