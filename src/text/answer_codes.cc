#include <string>

#include "text/tokenizer.h"

namespace d3::text {
namespace {

// What stands before a code in the prompt: the assistant's turn with its thinking closed.
constexpr const char* kTurnOpening = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
constexpr size_t kCodeCount = 255;

}  // namespace

AnswerCodes derive_answer_codes(const Tokenizer& tokenizer) {
  const std::vector<int32_t> opening = tokenizer.encode(kTurnOpening);
  AnswerCodes out;
  const auto consider = [&](const std::string& code) {
    if (out.codes.size() == kCodeCount) return;
    const std::vector<int32_t> alone = tokenizer.encode(code);
    if (alone.size() != 1) return;
    std::vector<int32_t> expected = opening;
    expected.push_back(alone[0]);
    if (tokenizer.encode(kTurnOpening + code) != expected) return;
    out.codes.push_back(code);
    out.token_ids.push_back(alone[0]);
  };
  for (char first = 'A'; first <= 'Z'; ++first) consider({first});
  for (char first = 'A'; first <= 'Z'; ++first)
    for (char second = 'A'; second <= 'Z'; ++second) consider({first, second});
  return out;
}

}  // namespace d3::text
