// What must hold for every body, whichever API it is for.
#pragma once

#include <vector>

#include "api/error_body.h"
#include "decision/answer.h"
#include "decision/prompt.h"
#include "decision/request.h"
#include "json/parse.h"
#include "require.h"

namespace d3::fuzz {

/// A request that validation let through keeps the promises of decision/request.h, makes prompts and gets
/// answers.
inline std::vector<decision::Answer> answer(const decision::Request& request) {
  require(!request.state.empty() && !request.questions.empty() && request.questions.size() <= 64);
  const std::vector<std::string> codes(255, "A");
  const std::vector<float> logits(255, 0.0F);
  require(decision::prompt_head(request).ends_with("\n\n"));
  std::vector<decision::Answer> answers;
  for (const decision::Question& question : request.questions) {
    require(!question.id.empty() && !question.instructions.empty());
    require(!question.options.empty() && question.options.size() <= 255);
    const bool score = question.type == decision::QuestionType::kScore;
    require(question.legend.size() == (score ? question.options.size() : 0));
    require(decision::prompt_tail(question, codes).starts_with("Question:\n"));
    answers.push_back(decision::answer_question(question, logits, 1.0));
  }
  return answers;
}

/// An error is the client's, on one line, and its reply is JSON.
inline void check_error(const Error& error) {
  const api::ErrorReply reply = api::make_error_reply(error);
  require(reply.status == 400 || reply.status == 404);
  require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  require(json::parse(reply.body).find("error") != nullptr);
}

}  // namespace d3::fuzz
