// A tokenizer of 256 bytes and a few merges, as the text of its two files, for tests to change.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "text/code_points.h"

namespace d3::text::test {

/// The byte-level spelling of bytes.
inline std::string spell(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    uint32_t others = 0;  // bytes before this one that are not printable
    for (unsigned b = 0; b < byte; ++b)
      others += !((b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE);
    append_utf8(printable ? byte : 256 + others, out);
  }
  return out;
}

/// As a JSON string of a byte-level spelling.
inline std::string quoted(std::string_view bytes) {
  std::string out = "\"";
  for (const char c : spell(bytes)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// Ids: 0..255 the bytes, 256 "he", 257 "ll", 258 "hell", 259 " w", 260 "中" (E4 B8 AD), 261 its first two
/// bytes, 262 "ab", then the added tokens <|a|> = 263 (special), <b> = 264.
inline std::string tiny_tokenizer_json() {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    vocab += fmt::format("{}:{},", quoted({&c, 1}), byte);
  }
  vocab +=
      fmt::format(R"({}:256,{}:257,{}:258,{}:259,{}:260,{}:261,{}:262)", quoted("he"), quoted("ll"),
                  quoted("hell"), quoted(" w"), quoted("\xE4\xB8\xAD"), quoted("\xE4\xB8"), quoted("ab"));
  const std::string merges = fmt::format(
      "[{},{}],[{},{}],[{},{}],[{},{}],[{},{}],[{},{}],[{},{}]", quoted("h"), quoted("e"), quoted("l"),
      quoted("l"), quoted("he"), quoted("ll"), quoted(" "), quoted("w"), quoted("\xE4"), quoted("\xB8"),
      quoted("\xE4\xB8"), quoted("\xAD"), quoted("a"), quoted("b"));
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":[
{{"id":263,"content":"<|a|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}},
{{"id":264,"content":"<b>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}}],
"normalizer":{{"type":"NFC"}},"pre_tokenizer":{{"type":"Sequence","pretokenizers":[
{{"type":"Split","pattern":{{"Regex":"\\p{{N}}{{1,3}}| ?[^\\s\\p{{N}}]+|\\s+"}},"behavior":"Isolated","invert":false}},
{{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}}]}},
"post_processor":null,"decoder":{{"type":"ByteLevel"}},
"model":{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{{{}}},"merges":[{}]}}}})",
      vocab, merges);
}

/// `tokenizer_class` that leaves everything to tokenizer.json.
inline std::string tiny_config_json() { return R"({"tokenizer_class":"TokenizersBackend"})"; }

/// The text with `from`, which must be in it, replaced by `to`.
inline std::string changed(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error(fmt::format("'{}' is not in the text", from));
  return text.replace(at, from.size(), to);
}

}  // namespace d3::text::test
