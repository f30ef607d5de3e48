#include "d3/request.h"

namespace d3 {

Question Question::choice(std::string id, Content instructions, std::vector<Option> options) {
  Question question;
  question.type = QuestionType::kChoice;
  question.id = std::move(id);
  question.instructions = std::move(instructions);
  question.options = std::move(options);
  return question;
}

Question Question::noul(std::string id, Content instructions, Content if_true, Content if_false) {
  Question question;
  question.type = QuestionType::kNoul;
  question.id = std::move(id);
  question.instructions = std::move(instructions);
  question.if_true = std::move(if_true);
  question.if_false = std::move(if_false);
  return question;
}

Question Question::score(std::string id, Content instructions, std::vector<Content> levels) {
  Question question;
  question.type = QuestionType::kScore;
  question.id = std::move(id);
  question.instructions = std::move(instructions);
  question.levels = std::move(levels);
  return question;
}

}  // namespace d3
