#include "api/decisions.h"
#include "api/models.h"
#include "decision/answer.h"
#include "json/write.h"

namespace d3::api {
namespace {

using decision::Answer;
using decision::Question;

void append_value(std::string& out, const Question& question, const DecisionsQuestion& shape, size_t option) {
  if (shape.value_is_bool[option])
    out += question.options[option].key;
  else
    json::append_string(out, question.options[option].key);
}

void append_choice(std::string& out, const Question& question, const DecisionsQuestion& shape,
                   const Answer& answer) {
  out += R"(,"choice":)";
  append_value(out, question, shape, answer.best);
  out += R"(,"probabilities":[)";
  for (size_t i = 0; i < answer.probabilities.size(); ++i) {
    out += i > 0 ? R"(,{"value":)" : R"({"value":)";
    append_value(out, question, shape, i);
    out += R"(,"probability":)";
    json::append_double(out, answer.probabilities[i]);
    out += '}';
  }
  out += ']';
}

void append_score(std::string& out, const DecisionsQuestion& shape, const Answer& answer) {
  out += R"(,"score":)";
  json::append_double(out, decision::expected_level(answer));
  out += R"(,"probabilities":[)";
  for (size_t i = 0; i < answer.probabilities.size(); ++i) {
    out += i > 0 ? R"(,{"value":)" : R"({"value":)";
    json::append_integer(out, static_cast<int64_t>(i));
    out += R"(,"label":)";
    json::append_string(out, shape.labels[i]);
    out += R"(,"probability":)";
    json::append_double(out, answer.probabilities[i]);
    out += '}';
  }
  out += ']';
}

void append_answer(std::string& out, const Question& question, const DecisionsQuestion& shape,
                   const Answer& answer) {
  const bool predicate = question.type == decision::QuestionType::kNoul;
  const bool choice = question.type == decision::QuestionType::kChoice;
  out += R"({"type":)";
  json::append_string(out, predicate ? "predicate" : choice ? "choice" : "score");
  out += R"(,"name":)";
  if (shape.name)
    json::append_string(out, *shape.name);
  else
    out += "null";
  if (predicate) {
    out += R"(,"probability":)";
    json::append_double(out, answer.probabilities[1]);
  } else {
    if (choice)
      append_choice(out, question, shape, answer);
    else
      append_score(out, shape, answer);
    out += R"(,"confidence":)";
    json::append_double(out, answer.probabilities[answer.best]);
  }
  out += '}';
}

}  // namespace

std::string write_decisions(const DecisionsRequest& request, std::span<const decision::Answer> answers,
                            const ServedModel& model, const ResponseInfo& info) {
  std::string out = R"({"model":)";
  json::append_untrusted_string(out, answering_name(request.request, model));
  out += R"(,"answers":[)";
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) out += ',';
    append_answer(out, request.request.questions[i], request.questions[i], answers[i]);
  }
  out += R"(],"usage":{"input_tokens":)";
  json::append_integer(out, info.input_tokens);
  out += R"(,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":0,)";
  out += R"("output_tokens_details":{"reasoning_tokens":0},"total_tokens":)";
  json::append_integer(out, info.input_tokens);
  out += "}}";
  return out;
}

}  // namespace d3::api
