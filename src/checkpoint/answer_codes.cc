#include "checkpoint/answer_codes.h"

#include <fmt/format.h>

#include "checkpoint/messages.h"

namespace d3::checkpoint {

void check_answer_codes(const Checkpoint& checkpoint, const text::Tokenizer& tokenizer) {
  const int vocab_size = checkpoint.config().text.vocab_size;
  if (tokenizer.vocab_size() > vocab_size)
    throw bad_file(checkpoint.directory() / "tokenizer.json",
                   fmt::format("has {} tokens; config.json's text_config.vocab_size is {}",
                               tokenizer.vocab_size(), vocab_size));
  check_answer_codes(checkpoint, text::derive_answer_codes(tokenizer));
}

void check_answer_codes(const Checkpoint& checkpoint, const text::AnswerCodes& derived) {
  const DecisionConfig& decision = checkpoint.decision();
  const std::filesystem::path file = checkpoint.directory() / "decision_config.json";
  const auto mismatch = [&](const std::string& key, const std::string& message) {
    return bad_key(ErrorCode::kBadCheckpoint, file, key, message);
  };
  if (derived.codes.size() != decision.codes.size())
    throw mismatch("codes", fmt::format("has {} items; the tokenizer gives {}", decision.codes.size(),
                                        derived.codes.size()));
  for (size_t i = 0; i < decision.codes.size(); ++i) {
    if (decision.codes[i] != derived.codes[i])
      throw mismatch(fmt::format("codes[{}]", i),
                     fmt::format("is {}; the tokenizer gives {}", in_quotes(decision.codes[i]),
                                 in_quotes(derived.codes[i])));
    if (decision.token_ids[i] != derived.token_ids[i])
      throw mismatch(fmt::format("token_ids[{}]", i),
                     fmt::format("is {}; the tokenizer gives {} for code {}", decision.token_ids[i],
                                 derived.token_ids[i], in_quotes(decision.codes[i])));
  }
}

}  // namespace d3::checkpoint
