// Texts: the ids spell the text in its normal form, and the scanner cuts as its pattern does.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/nfc.h"
#include "text/qwen_split.h"
#include "text/split_pattern.h"
#include "text/tokenizer.h"

namespace {

using namespace d3;

std::string read(const std::string& name) {
  auto text = simdjson::padded_string::load(D3_SOURCE_DIR "/tests/data/tokenizer-small/" + name);
  return std::string(std::string_view(text.value()));
}

// The bytes of every id.
std::vector<std::string> spellings(const std::string& json) {
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(json);
  const text::ByteAlphabet alphabet;
  std::vector<std::string> out;
  const auto put = [&](size_t id, std::string bytes) {
    if (id >= out.size()) out.resize(id + 1);
    out[id] = std::move(bytes);
  };
  for (const auto& [key, id] : root["model"]["vocab"].get_object()) {
    std::string bytes(key.size(), '\0');
    bytes.resize(alphabet.decode(key, bytes.data()));
    put(id.get_uint64(), bytes);
  }
  for (const auto token : root["added_tokens"].get_array())
    put(token["id"].get_uint64(), std::string(token["content"].get_string().value()));
  return out;
}

struct Fixture {
  std::string json = read("tokenizer.json");
  text::Tokenizer qwen2 = text::Tokenizer::parse(json, read("tokenizer_config.json"));
  text::Tokenizer qwen35 = text::Tokenizer::parse(json, "{}");
  std::vector<std::string> bytes = spellings(json);
  text::CodePoints code_points;
  text::Nfc nfc{code_points};
  text::SplitPattern qwen2_pattern{text::kQwen2Pattern, code_points};
  text::SplitPattern qwen35_pattern{text::kQwen35Pattern, code_points};
};

const Fixture kFixture;

void check_ids(const text::Tokenizer& tokenizer, std::string_view input) {
  std::string spelled, expected_storage, storage;
  for (const int32_t id : tokenizer.encode(input)) spelled += kFixture.bytes.at(static_cast<size_t>(id));
  if (kFixture.nfc.normalize(spelled, storage) != kFixture.nfc.normalize(input, expected_storage))
    std::abort();
}

void check_pieces(text::QwenSplit scanner, const text::SplitPattern& pattern, std::string_view input) {
  for (size_t at = 0; at < input.size();) {
    const size_t end = scanner.next(kFixture.code_points, input, at);
    if (end <= at || end != pattern.next(input, at)) std::abort();
    at = end;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (!simdjson::validate_utf8(input)) {
    try {
      kFixture.qwen2.encode(input);
      std::abort();
    } catch (const Error&) {
      return 0;
    }
  }
  check_ids(kFixture.qwen2, input);
  check_ids(kFixture.qwen35, input);
  check_pieces(text::QwenSplit(text::QwenSplit::Marks::kApart), kFixture.qwen2_pattern, input);
  check_pieces(text::QwenSplit(text::QwenSplit::Marks::kInWords), kFixture.qwen35_pattern, input);
  return 0;
}
