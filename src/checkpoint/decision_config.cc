#include <limits>

#include <fmt/format.h>

#include "checkpoint/config.h"
#include "checkpoint/fields.h"
#include "checkpoint/file.h"
#include "checkpoint/messages.h"

namespace d3::checkpoint {
namespace {

AttentionMode read_attention_mode(const Fields& fields) {
  const std::string mode = fields.text_or("attention_mode", "causal");
  if (mode == "causal") return AttentionMode::kCausal;
  if (mode == "noncausal_full_attention") return AttentionMode::kNoncausalFullAttention;
  throw fields.unexpected("attention_mode", "\"causal\" or \"noncausal_full_attention\"");
}

ReadoutDtype read_readout_dtype(const Fields& fields) {
  const std::string dtype = fields.text_or("readout_dtype", "float32");
  if (dtype == "float32") return ReadoutDtype::kFloat32;
  if (dtype == "bfloat16") return ReadoutDtype::kBfloat16;
  throw fields.unexpected("readout_dtype", "\"float32\" or \"bfloat16\"");
}

void require_text(const Fields& fields, std::string_view key, std::string_view expected) {
  if (fields.text(key) != expected) throw fields.unexpected(key, fmt::format("\"{}\"", expected));
}

void require_codes(const Fields& fields, std::string_view key, size_t count) {
  if (count != kCodeCount)
    throw fields.error(key, fmt::format("has {} items; expected {}", count, kCodeCount));
}

/// Throws when two items are equal; naming both places.
template <typename Item>
void require_distinct(const Fields& fields, std::string_view key, const std::vector<Item>& items) {
  for (size_t i = 0; i < items.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (items[i] == items[j])
        throw fields.error(fmt::format("{}[{}]", key, i), fmt::format("repeats {}[{}]", key, j));
}

std::vector<std::string> read_codes(const Fields& fields) {
  std::vector<std::string> codes;
  for (const json::Value& code : fields.array("codes")) {
    if (!code.is_string() || code.as_string().empty())
      throw fields.error(fmt::format("codes[{}]", codes.size()),
                         fmt::format("is {}; expected a non-empty string", shown(code)));
    codes.push_back(code.as_string());
  }
  require_codes(fields, "codes", codes.size());
  require_distinct(fields, "codes", codes);
  return codes;
}

}  // namespace

DecisionConfig parse_decision_config(std::string_view text, const std::filesystem::path& file) {
  const json::Value root = parse_object(text, file);
  const Fields fields(root, file);
  fields.integer("format_version", 1, 1);
  require_text(fields, "format_id", "d3-code-readout-v1");
  require_text(fields, "prompt", "d3");
  require_text(fields, "pooling", "last");
  DecisionConfig decision;
  decision.attention_mode = read_attention_mode(fields);
  decision.readout_dtype = read_readout_dtype(fields);
  decision.temperature = fields.number_or("temperature", decision.temperature);
  // Below float32's normal range the reference's quotients overflow.
  if (!(decision.temperature >= std::numeric_limits<float>::min() &&
        decision.temperature <= std::numeric_limits<float>::max()))
    throw fields.unexpected("temperature", "a finite number greater than 0");
  if (fields.find("max_length") != nullptr)
    decision.max_length = fields.integer("max_length", 16, std::numeric_limits<int>::max());
  decision.codes = read_codes(fields);
  const std::vector<int> ids = fields.integers("token_ids", 0, kMaxVocabulary - 1);
  decision.token_ids.assign(ids.begin(), ids.end());
  require_codes(fields, "token_ids", ids.size());
  require_distinct(fields, "token_ids", decision.token_ids);
  return decision;
}

DecisionConfig read_decision_config(const Folder& folder) {
  constexpr const char* kName = "decision_config.json";
  return parse_decision_config(read_text_file(folder, kName, kMaxJsonBytes), folder.path() / kName);
}

}  // namespace d3::checkpoint
