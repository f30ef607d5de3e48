// The JSON files of a checkpoint, chosen by the first byte: refused with a good error, or within the bounds
// that everything after them relies on.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "checkpoint/config.h"
#include "checkpoint/expected_tensors.h"
#include "checkpoint/manifest.h"
#include "checkpoint_checks.h"

namespace {

using namespace d3;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_shapes(const std::vector<checkpoint::ExpectedTensor>& tensors) {
  for (const checkpoint::ExpectedTensor& tensor : tensors) {
    int64_t bytes = 4;
    for (const int64_t size : tensor.shape) require(size > 0 && !__builtin_mul_overflow(bytes, size, &bytes));
  }
}

void check_config(std::string_view text) {
  const checkpoint::Config config = checkpoint::parse_config(text, "f");
  require(config.text.layer_types.size() == static_cast<size_t>(config.text.num_hidden_layers));
  require(config.text.num_attention_heads % config.text.num_key_value_heads == 0);
  require(config.text.linear_num_value_heads % config.text.linear_num_key_heads == 0);
  require(config.text.rotary_dim > 0 && config.text.rotary_dim <= config.text.head_dim);
  require(config.image_token_id < config.text.vocab_size);
  check_shapes(checkpoint::expected_text_tensors(config.text));
  if (config.vision) check_shapes(checkpoint::expected_vision_tensors(*config.vision));
}

void check_decision_config(std::string_view text) {
  const checkpoint::DecisionConfig decision = checkpoint::parse_decision_config(text, "f");
  require(decision.temperature > 0 && decision.codes.size() == 255 && decision.token_ids.size() == 255);
  require(decision.max_length.value_or(16) >= 16);
  require(
      std::all_of(decision.token_ids.begin(), decision.token_ids.end(), [](int32_t id) { return id >= 0; }));
}

void check_manifest(std::string_view text) {
  for (const checkpoint::Manifest::File& file : checkpoint::parse_manifest(text, "f").files)
    require(!file.name.empty() && file.name.front() != '/' && file.name.find("../") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0]) {
      case 'c':
        check_config(text);
        break;
      case 'd':
        check_decision_config(text);
        break;
      case 'm':
        check_manifest(text);
        break;
      default:
        checkpoint::check_preprocessor(text, "f");
    }
  } catch (const Error& error) {
    fuzz::check_refusal(error);
  }
  return 0;
}
