#include "library/convert.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/error.h"
#include "decision/refuse.h"
#include "decision/validation.h"
#include "json/parse.h"
#include "json/value.h"
#include "media/media.h"

namespace d3::library {
namespace {

std::string checked_text(std::string text, const std::string& path) {
  if (!simdjson::validate_utf8(text)) decision::refuse(path, "the text is not valid UTF-8");
  return text;
}

/// Content as a JSON value. `path` is the content's own.
json::Value value_of(Content content, const std::string& path) {
  switch (content.kind()) {
    case Content::Kind::kNone:
      return json::Value();
    case Content::Kind::kText:
      return json::Value(checked_text(std::move(content).text(), path));
    case Content::Kind::kJson:
      try {
        return json::parse(content.text());
      } catch (const Error& error) {
        decision::refuse(path, error.what());
      }
  }
  return json::Value();
}

json::Value choice_criteria(std::vector<Option> options, const std::string& path) {
  std::set<std::string, std::less<>> keys;
  json::Object members;
  for (Option& option : options) {
    std::string key = checked_text(std::move(option.key), path);
    if (!keys.insert(key).second)
      decision::refuse(path, fmt::format("the option `{}` is there twice", decision::shown(key)));
    members.push_back({std::move(key), value_of(std::move(option.description), path)});
  }
  return json::Value(std::move(members));
}

json::Value noul_criteria(Question& question, const std::string& path) {
  json::Object members;
  members.push_back({"true", value_of(std::move(question.if_true), path)});
  members.push_back({"false", value_of(std::move(question.if_false), path)});
  return json::Value(std::move(members));
}

json::Value score_criteria(std::vector<Content> levels, const std::string& path) {
  json::Array values;
  for (Content& level : levels) values.push_back(value_of(std::move(level), path));
  return json::Value(std::move(values));
}

/// What a question has that its type does not is a mistake that should not be passed over.
void check_parts(const Question& question, const std::string& path) {
  const auto given = [](const Content& content) { return content.kind() != Content::Kind::kNone; };
  if (question.type != QuestionType::kChoice && !question.options.empty())
    decision::refuse(path, "only a choice has options");
  if (question.type != QuestionType::kScore && !question.levels.empty())
    decision::refuse(path, "only a score has levels");
  if (question.type != QuestionType::kNoul && (given(question.if_true) || given(question.if_false)))
    decision::refuse(path, "only a noul says what true and false mean");
}

/// A question as a member of the body's `questions`.
json::Value value_of(Question question, const std::string& path) {
  const std::string criteria_path = path + ".criteria";
  check_parts(question, path);
  json::Object members;
  const auto add = [&](std::string key, json::Value value) {
    members.push_back({std::move(key), std::move(value)});
  };
  add("instructions", value_of(std::move(question.instructions), path + ".instructions"));
  switch (question.type) {
    case QuestionType::kChoice:
      add("type", json::Value(std::string("choice")));
      add("criteria", choice_criteria(std::move(question.options), criteria_path));
      break;
    case QuestionType::kNoul:
      add("type", json::Value(std::string("noul")));
      add("criteria", noul_criteria(question, criteria_path));
      break;
    case QuestionType::kScore:
      add("type", json::Value(std::string("score")));
      add("criteria", score_criteria(std::move(question.levels), criteria_path));
      break;
  }
  return json::Value(std::move(members));
}

/// The request's texts in the shape of the HTTP API's body, whose rules and rendering then hold.
json::Value body_of(Content state, std::vector<Question> questions) {
  std::set<std::string, std::less<>> ids;
  json::Object members;
  for (Question& question : questions) {
    std::string id = checked_text(question.id, "questions");
    const std::string path = decision::question_path(id);
    if (!ids.insert(id).second) decision::refuse(path, "two questions have this id");
    members.push_back({std::move(id), value_of(std::move(question), path)});
  }
  json::Object body;
  body.push_back({"state", value_of(std::move(state), "state")});
  body.push_back({"questions", json::Value(std::move(members))});
  return json::Value(std::move(body));
}

/// A file's bytes; no more than one beyond the limit, which is then refused where all media are.
std::vector<std::byte> read_file(const std::string& file, size_t limit, const std::string& path) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::byte> bytes;
  constexpr size_t kBlock = size_t{1} << 20U;
  while (stream && bytes.size() <= limit) {
    const size_t size = bytes.size();
    bytes.resize(size + std::min(kBlock, limit + 1 - size));
    stream.read(reinterpret_cast<char*>(bytes.data() + size),
                static_cast<std::streamsize>(bytes.size() - size));
    bytes.resize(size + static_cast<size_t>(stream.gcount()));
  }
  if (stream.bad() || !stream.is_open())
    throw Error(ErrorCode::kNotFound, fmt::format("{}: {} cannot be read", path, file), path);
  return bytes;
}

std::vector<decision::Medium> media_of(std::vector<Media> media, decision::MediaKind kind) {
  const bool image = kind == decision::MediaKind::kImage;
  const media::MediaOptions limits;
  std::vector<decision::Medium> out;
  for (Media& medium : media) {
    const std::string path = fmt::format("{}[{}]", image ? "images" : "videos", out.size());
    switch (medium.kind()) {
      case Media::Kind::kBytes:
        if (medium.content().empty()) decision::refuse(path, "there are no bytes");
        out.push_back({.file = std::move(medium).content()});
        break;
      case Media::Kind::kFile:
        out.push_back({.file = read_file(medium.place(),
                                         image ? limits.max_image_bytes : limits.max_video_bytes, path)});
        if (out.back().file.empty()) decision::refuse(path, "the file is empty");
        break;
      case Media::Kind::kUrl:
        decision::check_media_url(medium.place(), kind, path);
        out.push_back({.url = medium.place()});
        break;
    }
  }
  return out;
}

QuestionType type_of(decision::QuestionType type) {
  switch (type) {
    case decision::QuestionType::kChoice:
      return QuestionType::kChoice;
    case decision::QuestionType::kNoul:
      return QuestionType::kNoul;
    case decision::QuestionType::kScore:
      break;
  }
  return QuestionType::kScore;
}

}  // namespace

std::shared_ptr<const decision::Request> validated(Request request) {
  auto out = std::make_shared<decision::Request>(
      decision::parse_request(body_of(std::move(request.state), std::move(request.questions))));
  out->images = media_of(std::move(request.images), decision::MediaKind::kImage);
  out->videos = media_of(std::move(request.videos), decision::MediaKind::kVideo);
  if (out->has_media()) decision::check_media_placeholders(*out);
  return out;
}

Reply reply_of(const decision::Request& request, const engine::Outcome& outcome, int64_t input_tokens) {
  Reply reply;
  reply.input_tokens = input_tokens;
  reply.queue_time = outcome.timing.queue;
  reply.compute_time = outcome.timing.forward;
  for (size_t i = 0; i < outcome.answers.size(); ++i) {
    const decision::Question& question = request.questions[i];
    const decision::Answer& answer = outcome.answers[i];
    Answer& out = reply.answers.emplace_back();
    out.id = question.id;
    out.type = type_of(question.type);
    out.best = answer.best;
    for (size_t j = 0; j < question.options.size(); ++j)
      out.options.push_back({question.options[j].key, answer.probabilities[j]});
  }
  return reply;
}

}  // namespace d3::library
