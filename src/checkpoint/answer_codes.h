// checkpoint/answer_codes.h: whether a checkpoint and its tokenizer belong together.
#pragma once

#include "checkpoint/checkpoint.h"
#include "text/tokenizer.h"

namespace d3::checkpoint {

/// Every token must have a row of embed_tokens, and text::derive_answer_codes(tokenizer) must equal
/// decision_config.json's codes and token_ids: a code that is not one token would be scored by another
/// token's logit. Throws Error(kBadCheckpoint) naming decision_config.json, the first key that differs and
/// both values (tokenizer.json when it has tokens beyond text_config.vocab_size).
void check_answer_codes(const Checkpoint& checkpoint, const text::Tokenizer& tokenizer);

/// The same for codes already derived.
void check_answer_codes(const Checkpoint& checkpoint, const text::AnswerCodes& derived);

}  // namespace d3::checkpoint
