// tokenizer.json and, after a zero byte, tokenizer_config.json: refused with a good error, or a tokenizer
// that encodes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "checkpoint_checks.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace d3;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\0');
  const std::string_view config = cut == input.npos ? "{}" : input.substr(cut + 1);
  try {
    const auto tokenizer = text::Tokenizer::parse(input.substr(0, cut), config);
    for (const int32_t id : tokenizer.encode("I'm 42:  e\u0301 中文\n\t<|im_end|> <b>aaaa"))
      if (id < 0 || id >= tokenizer.vocab_size()) std::abort();
  } catch (const Error& error) {
    fuzz::check_refusal(error,
                        error.field() == "tokenizer.json" ? "tokenizer.json" : "tokenizer_config.json");
  }
  return 0;
}
