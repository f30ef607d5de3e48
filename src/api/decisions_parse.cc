#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "api/decisions.h"
#include "api/models.h"
#include "base/error.h"
#include "decision/describe.h"
#include "decision/refuse.h"
#include "decision/validation.h"
#include "json/parse.h"

namespace d3::api {
namespace {

using decision::kind_name;
using decision::Question;
using decision::refuse;
using decision::require_list;
using decision::require_string;
using decision::require_text;
using decision::shown;
using json::Member;
using json::Value;

/// The fields of one JSON object, taken by name; what nobody took is unknown. A null counts as absent.
class Fields {
 public:
  Fields(Value& value, std::string path)
      : object_(decision::require_object(value, path)), path_(std::move(path)) {}

  std::string path(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }

  Value* take(std::string_view name) {
    const auto field = std::ranges::find(object_, name, &Member::key);
    if (field == object_.end()) return nullptr;
    taken_.push_back(name);
    return field->value.is_null() ? nullptr : &field->value;
  }

  Value& require(std::string_view name) {
    Value* const value = take(name);
    if (value == nullptr) refuse(path(name), "is missing");
    return *value;
  }

  void refuse_others() const {
    for (const Member& field : object_)
      if (std::ranges::find(taken_, field.key) == taken_.end())
        refuse(path(shown(field.key)), "unknown field");
  }

 private:
  json::Object& object_;
  std::string path_;
  std::vector<std::string_view> taken_;
};

std::string optional_string(Fields& fields, std::string_view name) {
  Value* const value = fields.take(name);
  return value != nullptr ? std::move(require_string(*value, fields.path(name))) : std::string();
}

void append_joined(std::string& text, std::string_view separator, const std::string& more) {
  if (!text.empty() && !more.empty()) text += separator;
  text += more;
}

// ---- texts and images ----

std::string read_json_part(Fields& part) {
  Value& data = part.require("data");
  if (!data.is_object() && !data.is_array())
    refuse(part.path("data"), "must be an object or a list of objects");
  return decision::describe(data);
}

decision::Medium read_image_part(Fields& part) {
  std::string& url = require_string(part.require("image_url"), part.path("image_url"));
  decision::check_media_url(url, decision::MediaKind::kImage, part.path("image_url"));
  part.take("detail");  // images have one level of detail here
  return {.url = std::move(url)};
}

/// The text of a string or of a list of parts, joined by newlines; images go to `images`, and are refused
/// where that is null.
std::string read_content(Value& content, const std::string& path, std::vector<decision::Medium>* images) {
  if (content.is_string()) return std::move(content.as_string());
  if (!content.is_array())
    refuse(path, fmt::format("must be a string or a list of parts, not {}", kind_name(content)));
  std::string text;
  size_t index = 0;
  for (Value& value : content.as_array()) {
    Fields part(value, fmt::format("{}.{}", path, index++));
    const std::string& type = require_string(part.require("type"), part.path("type"));
    if (type == "input_text")
      append_joined(text, "\n", require_string(part.require("text"), part.path("text")));
    else if (type == "input_json")
      append_joined(text, "\n", read_json_part(part));
    else if (type == "input_image" && images != nullptr)
      images->push_back(read_image_part(part));
    else
      refuse(part.path("type"), fmt::format("`{}` parts are not taken here", shown(type)));
    part.take("prompt_cache_breakpoint");
    part.refuse_others();
  }
  return text;
}

std::string read_message(Value& value, const std::string& path, std::vector<decision::Medium>& images) {
  Fields message(value, path);
  if (Value* const type = message.take("type");
      type != nullptr && require_string(*type, message.path("type")) != "message")
    refuse(message.path("type"), fmt::format("must be message, not `{}`", shown(type->as_string())));
  const std::string& role = require_string(message.require("role"), message.path("role"));
  if (role != "user") refuse(message.path("role"), fmt::format("must be user, not `{}`", shown(role)));
  std::string text = read_content(message.require("content"), message.path("content"), &images);
  message.refuse_others();
  return text;
}

void read_input(Value& input, decision::Request& request) {
  if (input.is_string()) {
    request.state = std::move(input.as_string());
  } else if (input.is_array()) {
    if (input.as_array().empty()) refuse("input", "at least one message is needed");
    size_t index = 0;
    for (Value& message : input.as_array())
      append_joined(request.state, "\n\n",
                    read_message(message, fmt::format("input.{}", index++), request.images));
  } else {
    refuse("input", fmt::format("must be a string or a list of messages, not {}", kind_name(input)));
  }
  if (request.state.empty()) request.state = decision::kEmptyState;
}

// ---- questions ----

void read_predicate(Fields&, Question& question, DecisionsQuestion&) {
  question.type = decision::QuestionType::kNoul;
  question.options = decision::noul_options();
}

void read_choice(Fields& fields, Question& question, DecisionsQuestion& shape) {
  question.type = decision::QuestionType::kChoice;
  const std::string path = fields.path("choices");
  json::Array& choices = require_list(fields.require("choices"), path);
  if (choices.size() < 2 || choices.size() > decision::kMaxOptions)
    refuse(path, fmt::format("a choice has 2 to {} choices, not {}", decision::kMaxOptions, choices.size()));
  for (Value& entry : choices) {
    Fields choice(entry, fmt::format("{}.{}", path, question.options.size()));
    Value& value = choice.require("value");
    const bool is_bool = value.is_bool();
    std::string key =
        is_bool ? (value.as_bool() ? "true" : "false") : require_text(value, choice.path("value"));
    // A string and a boolean of the same text are two values, as in OpenAI's API.
    for (size_t i = 0; i < question.options.size(); ++i)
      if (question.options[i].key == key && shape.value_is_bool[i] == is_bool)
        refuse(choice.path("value"), fmt::format("the same value as that of choice {}", i));
    std::string text = key;
    append_joined(text, ": ", optional_string(choice, "description"));
    choice.refuse_others();
    question.options.push_back({std::move(key), std::move(text)});
    shape.value_is_bool.push_back(is_bool);
  }
}

void read_score(Fields& fields, Question& question, DecisionsQuestion& shape) {
  question.type = decision::QuestionType::kScore;
  const std::string path = fields.path("levels");
  json::Array& levels = require_list(fields.require("levels"), path);
  decision::check_level_count(levels.size(), path);
  std::vector<std::string> texts;
  for (Value& entry : levels) {
    Fields level(entry, fmt::format("{}.{}", path, texts.size()));
    shape.labels.push_back(require_text(level.require("label"), level.path("label")));
    texts.push_back(shape.labels.back());
    append_joined(texts.back(), ": ", optional_string(level, "description"));
    level.refuse_others();
  }
  question.legend = texts;
  question.options = decision::level_options(std::move(texts), path);
}

struct TypeRule {
  std::string_view name;
  void (*read)(Fields& fields, Question& question, DecisionsQuestion& shape);
};
constexpr std::array<TypeRule, 3> kTypes{{
    {"predicate", read_predicate},
    {"choice", read_choice},
    {"score", read_score},
}};

void read_question(Value& value, DecisionsRequest& request) {
  Question question;
  question.id = std::to_string(request.questions.size());
  DecisionsQuestion shape;
  Fields fields(value, decision::question_path(question.id));
  const std::string& type = require_string(fields.require("type"), fields.path("type"));
  const auto* const rule = std::ranges::find(kTypes, type, &TypeRule::name);
  if (rule == kTypes.end())
    refuse(fields.path("type"), fmt::format("is one of predicate, choice, score, not `{}`", shown(type)));
  question.instructions = read_content(fields.require("instructions"), fields.path("instructions"), nullptr);
  if (question.instructions.empty()) question.instructions = decision::kDefaultInstructions;
  if (Value* const name = fields.take("name"))
    shape.name = std::move(require_string(*name, fields.path("name")));
  rule->read(fields, question, shape);
  fields.refuse_others();
  request.request.questions.push_back(std::move(question));
  request.questions.push_back(std::move(shape));
}

void read_questions(Value& value, DecisionsRequest& request) {
  json::Array& questions = require_list(value, "questions");
  if (questions.empty() || questions.size() > decision::kMaxQuestions)
    refuse("questions", fmt::format("1 to {} questions, not {}", decision::kMaxQuestions, questions.size()));
  for (Value& question : questions) read_question(question, request);
}

}  // namespace

DecisionsRequest parse_decisions(std::string_view body, const ServedModel& model) {
  Value value = json::parse(body);
  decision::require_object_body(value);
  Fields fields(value, "");
  DecisionsRequest request;
  request.request.model = std::move(require_text(fields.require("model"), "model"));
  read_input(fields.require("input"), request.request);
  read_questions(fields.require("questions"), request);
  optional_string(fields, "safety_identifier");
  if (Value* const salt = fields.take("cache_salt")) require_text(*salt, "cache_salt");
  optional_string(fields, "prompt_cache_key");
  if (Value* const options = fields.take("prompt_cache_options"))
    decision::require_object(*options, "prompt_cache_options");
  fields.refuse_others();
  check_served(request.request, model);
  decision::check_media_placeholders(request.request);
  return request;
}

}  // namespace d3::api
