#include "d3/request.h"

namespace d3 {
namespace {

Question made(QuestionType type, std::string id, Content instructions) {
  Question question;
  question.type = type;
  question.id = std::move(id);
  question.instructions = std::move(instructions);
  return question;
}

}  // namespace

Question Question::choice(std::string id, Content instructions, std::vector<Option> options) {
  Question question = made(QuestionType::kChoice, std::move(id), std::move(instructions));
  question.options = std::move(options);
  return question;
}

Question Question::noul(std::string id, Content instructions, Content if_true, Content if_false) {
  Question question = made(QuestionType::kNoul, std::move(id), std::move(instructions));
  question.if_true = std::move(if_true);
  question.if_false = std::move(if_false);
  return question;
}

Question Question::score(std::string id, Content instructions, std::vector<Content> levels) {
  Question question = made(QuestionType::kScore, std::move(id), std::move(instructions));
  question.levels = std::move(levels);
  return question;
}

}  // namespace d3
