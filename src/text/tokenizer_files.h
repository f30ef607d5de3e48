// text/tokenizer_files.h: tokenizer.json and tokenizer_config.json -> a checked description of the tokenizer.
#pragma once

#include <string>
#include <vector>

#include <simdjson.h>

#include "text/added_tokens.h"
#include "text/bpe.h"

namespace d3::text {

/// One step that cuts pieces of text into smaller ones.
struct SplitStep {
  bool prefix_space = false;  ///< first put a space before each piece that does not begin with one
  std::string pattern = {};   ///< then cut by this pattern; empty: leave the piece whole
};

/// What the two files say, by the rules of the reference (transformers 5.17 and tokenizers 0.23):
/// `tokenizer_class` `Qwen2Tokenizer` and `Qwen3_5Tokenizer` (also with the ending `Fast`; a missing class is
/// `Qwen3_5Tokenizer`, the one that the model type qwen3_5 stands for) take vocabulary, merges and added
/// tokens of the files and bring their own pattern and NFC. Any other class takes all of it from
/// tokenizer.json.
struct TokenizerDescription {
  BpeSource model;  ///< views into `parser`
  std::vector<SplitStep> steps;
  bool nfc = false;
  bool split_special_tokens = false;  ///< special added tokens are read as plain text
  std::vector<AddedToken> added_tokens;
  simdjson::dom::parser parser;
};

/// Throws Error(kBadCheckpoint) naming the file and the key that is missing, wrong or not understood.
TokenizerDescription describe_tokenizer(const simdjson::padded_string& tokenizer_json,
                                        const simdjson::padded_string& tokenizer_config);

}  // namespace d3::text
