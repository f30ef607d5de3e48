// text/added_token_rules.h: which added tokens a tokenizer ends up with, out of the several places that name
// them.
#pragma once

#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/json_reader.h"

namespace d3::text {

enum class AddedTokenRules { kQwen2, kQwen35, kFile };

/// The reference's rules, in its order: (kFile) the `added_tokens` of tokenizer.json; the
/// `added_tokens_decoder` of tokenizer_config.json, or `added_tokens` where there is none, by id; the named
/// special tokens (`eos_token`, ..) and the extra ones that are not among those. A token added again takes
/// the new flags. Its id is the one the vocabulary has for it, else the next free one. Throws
/// Error(kBadCheckpoint) when a file gives a token another id than that, or asks for `single_word`.
std::vector<AddedToken> resolve_added_tokens(const JsonNode& tokenizer_json, const JsonNode& tokenizer_config,
                                             AddedTokenRules rules, const BpeSource& model);

}  // namespace d3::text
