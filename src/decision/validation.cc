#include "decision/validation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "decision/describe.h"
#include "decision/refuse.h"
#include "json/number.h"
#include "json/render.h"

namespace d3::decision {
namespace {

using json::Member;
using json::Value;

// ---- questions ----

void read_choice(Question& question, Value& criteria, const std::string& path) {
  if (!criteria.is_object() || criteria.as_object().empty())
    refuse(path, "a choice needs an object of option names, each with a description or null");
  json::Object& options = criteria.as_object();
  if (options.size() > kMaxOptions)
    refuse(path, fmt::format("a choice has at most {} options, not {}", kMaxOptions, options.size()));
  for (Member& option : options) {
    if (option.key.empty()) refuse(path, "option names must not be empty");
    std::string text = option.key;
    if (!option.value.is_null()) (text += ": ") += describe(option.value);
    question.options.push_back({std::move(option.key), std::move(text)});
  }
}

void read_noul(Question& question, Value& criteria, const std::string& path) {
  question.options = noul_options();
  if (criteria.is_null()) return;
  if (!criteria.is_object())
    refuse(path, fmt::format("a noul takes an object of only true and false, not {}", kind_name(criteria)));
  for (Member& side : criteria.as_object()) {
    const auto option = std::ranges::find(question.options, side.key, &Option::key);
    if (option == question.options.end())
      refuse(path, fmt::format("a noul takes only true and false, not `{}`", shown(side.key)));
    if (is_truthy(side.value)) option->text = describe(std::move(side.value));
  }
}

void read_score(Question& question, Value& criteria, const std::string& path) {
  if (!criteria.is_array())
    refuse(path, fmt::format("a score needs a list of levels, not {}", kind_name(criteria)));
  json::Array& levels = criteria.as_array();
  check_level_count(levels.size(), path);
  std::vector<std::string> texts;
  for (const Value& level : levels) texts.push_back(describe(level));
  question.options = level_options(std::move(texts), path);
  for (Value& level : levels)
    question.legend.push_back(level.is_string() ? std::move(level.as_string()) : json::render_sorted(level));
}

struct TypeRule {
  std::string_view name;
  QuestionType type;
  void (*read_criteria)(Question& question, Value& criteria, const std::string& path);
};
constexpr std::array<TypeRule, 3> kTypes{{
    {"choice", QuestionType::kChoice, read_choice},
    {"noul", QuestionType::kNoul, read_noul},
    {"score", QuestionType::kScore, read_score},
}};

const TypeRule& find_type(Value* type, const std::string& path) {
  if (type == nullptr) refuse(path, "is missing; it is one of choice, noul, score");
  const std::string& name = require_string(*type, path);
  const auto* const rule = std::ranges::find(kTypes, name, &TypeRule::name);
  if (rule == kTypes.end()) refuse(path, fmt::format("is one of choice, noul, score, not `{}`", shown(name)));
  return *rule;
}

// ---- the body's fields ----

void read_model(Value& value, Request& request) { request.model = std::move(require_string(value, "model")); }

void read_request_id(Value& value, Request& request) {
  request.request_id = std::move(require_string(value, "request_id"));
}

void read_questions(Value& value, Request& request) {
  json::Object& questions = require_object(value, "questions");
  if (questions.empty()) refuse("questions", "at least one question is needed");
  if (questions.size() > kMaxQuestions)
    refuse("questions", fmt::format("at most {} questions, not {}", kMaxQuestions, questions.size()));
  for (Member& question : questions) {
    if (question.key.empty()) refuse("questions", "question ids must not be empty");
    request.questions.push_back(parse_question(std::move(question.key), std::move(question.value)));
  }
}

std::vector<Medium> read_media(Value& value, MediaKind kind, const std::string& field) {
  std::vector<Medium> media;
  for (Value& entry : require_list(value, field)) {
    const std::string path = fmt::format("{}[{}]", field, media.size());
    std::string& url = require_string(entry, path);
    check_media_url(url, kind, path);
    media.push_back({.url = std::move(url)});
  }
  return media;
}

void read_images(Value& value, Request& request) {
  request.images = read_media(value, MediaKind::kImage, "images");
}
void read_videos(Value& value, Request& request) {
  request.videos = read_media(value, MediaKind::kVideo, "videos");
}

// vLLM's fields that are checked and then have no effect.

void check_instructions(Value& value, Request&) {
  if (!require_string(value, "instructions").empty())
    refuse("instructions", "the prompt is fixed; instructions belong to a question");
}

void check_audio(Value& value, Request&) {
  if (!require_list(value, "audio").empty()) refuse("audio", "this model takes no audio");
}

void check_template_kwargs(Value& value, Request&) { require_object(value, "chat_template_kwargs"); }

void check_joint(Value& value, Request&) {
  if (!value.is_bool()) refuse("joint", fmt::format("must be false, not {}", kind_name(value)));
  if (value.as_bool()) refuse("joint", "must be false: this model reads each question on its own");
}

void check_cache_salt(Value& value, Request&) { require_text(value, "cache_salt"); }

void check_priority(Value& value, Request&) {
  if (!value.is_number() || !json::is_integer(value.as_number())) refuse("priority", "must be an integer");
}

struct FieldRule {
  std::string_view name;
  void (*read)(Value& value, Request& request);
};
/// Every field but `state`, which alone means something when it is null.
constexpr std::array<FieldRule, 11> kFields{{
    {"model", read_model},
    {"questions", read_questions},
    {"images", read_images},
    {"videos", read_videos},
    {"instructions", check_instructions},
    {"audio", check_audio},
    {"chat_template_kwargs", check_template_kwargs},
    {"joint", check_joint},
    {"cache_salt", check_cache_salt},
    {"priority", check_priority},
    {"request_id", read_request_id},
}};

std::string describe_state(Value&& state) {
  std::string text = state.is_null() ? std::string() : describe(std::move(state));
  return text.empty() ? std::string(kEmptyState) : text;
}

// ---- media ----

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), ascii_lower);
  return lower;
}

bool is_web_url(std::string_view url) {
  const std::string start = lower_ascii(url.substr(0, 8));
  const size_t scheme = start.starts_with("https://") ? 8 : start.starts_with("http://") ? 7 : 0;
  const auto visible = [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7F; };
  return scheme > 0 && url.size() > scheme && std::ranges::all_of(url, visible);
}

bool is_data_url(std::string_view url, std::string_view type) {
  constexpr size_t kLongestHead =
      256;  // "data:image/png;base64," and its parameters; the data may be megabytes
  const size_t comma = url.substr(0, kLongestHead).find(',');
  if (comma == std::string_view::npos || comma + 1 == url.size()) return false;
  const std::string head = lower_ascii(url.substr(0, comma));
  return head.starts_with(fmt::format("data:{}/", type)) && head.ends_with(";base64");
}

bool has_placeholder(std::string_view text) {
  return text.find("<|image_pad|>") != std::string_view::npos ||
         text.find("<|video_pad|>") != std::string_view::npos;
}

}  // namespace

std::string question_path(std::string_view id) { return "questions." + shown(id); }

std::vector<Option> noul_options() { return {{"false", "No / false"}, {"true", "Yes / true"}}; }

void check_level_count(size_t count, const std::string& path) {
  if (count < kMinLevels || count > kMaxLevels)
    refuse(path, fmt::format("a score has {} to {} levels, not {}", kMinLevels, kMaxLevels, count));
}

std::vector<Option> level_options(std::vector<std::string> texts, const std::string& path) {
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) refuse(path, fmt::format("level {} is empty", i));
    for (size_t before = 0; before < i; ++before)
      if (texts[before] == texts[i])
        refuse(path, fmt::format("levels {} and {} have the same text", before, i));
  }
  std::vector<Option> options;
  options.reserve(texts.size());
  for (std::string& text : texts) options.push_back({std::to_string(options.size()), std::move(text)});
  return options;
}

Question parse_question(std::string id, Value value) {
  const std::string path = question_path(id);
  Value* type = nullptr;
  Value* instructions = nullptr;
  Value absent;
  Value* criteria = &absent;
  for (Member& field : require_object(value, path)) {
    if (field.key == "type")
      type = &field.value;
    else if (field.key == "instructions")
      instructions = &field.value;
    else if (field.key == "criteria")
      criteria = &field.value;
    else
      refuse(path + "." + shown(field.key), "unknown field; a question has type, instructions and criteria");
  }
  const TypeRule& rule = find_type(type, path + ".type");
  Question question;
  question.id = std::move(id);
  question.type = rule.type;
  question.instructions = instructions != nullptr && is_truthy(*instructions)
                              ? describe(std::move(*instructions))
                              : std::string(kDefaultInstructions);
  rule.read_criteria(question, *criteria, path + ".criteria");
  return question;
}

std::vector<std::string_view> request_fields() {
  std::vector<std::string_view> names{"state"};
  for (const FieldRule& rule : kFields) names.push_back(rule.name);
  return names;
}

Request parse_request(Value body) {
  Request request;
  std::optional<std::string> state;
  for (Member& field : require_object_body(body)) {
    if (field.key == "state") {
      state = describe_state(std::move(field.value));
      continue;
    }
    const auto* const rule = std::ranges::find(kFields, field.key, &FieldRule::name);
    if (rule == kFields.end()) refuse(shown(field.key), fmt::format("unknown field `{}`", shown(field.key)));
    if (!field.value.is_null()) rule->read(field.value, request);
  }
  if (!state) refuse("state", "is missing; it may be null");
  if (request.questions.empty()) refuse("questions", "is missing or null; an object of questions is needed");
  request.state = *std::move(state);
  check_media_placeholders(request);
  return request;
}

void check_media_url(std::string_view url, MediaKind kind, const std::string& path) {
  const std::string_view type = kind == MediaKind::kImage ? "image" : "video";
  if (!is_web_url(url) && !is_data_url(url, type))
    refuse(path, fmt::format("must be an http(s) URL or a data:{}/...;base64, URL", type));
}

void check_media_placeholders(const Request& request) {
  if (!request.has_media()) return;
  for (const Question& question : request.questions) {
    const bool in_question = has_placeholder(question.instructions) ||
                             std::ranges::any_of(question.options, [](const Option& option) {
                               return has_placeholder(option.text);
                             });
    if (in_question || has_placeholder(request.state)) {
      refuse(question_path(question.id),
             fmt::format(
                 "{} has a literal <|image_pad|> or <|video_pad|>, which a request with media may not have",
                 in_question ? "the question" : "the state"));
    }
  }
}

}  // namespace d3::decision
