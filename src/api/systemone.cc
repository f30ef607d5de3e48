#include "api/systemone.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "api/assets.h"
#include "api/models.h"
#include "api/multipart.h"
#include "decision/answer.h"
#include "decision/refuse.h"
#include "decision/validation.h"
#include "json/parse.h"
#include "json/write.h"

namespace d3::api {
namespace {

using decision::Answer;
using decision::Question;

void append_member(std::string& out, std::string_view key, double value) {
  json::append_string(out, key);
  out += ':';
  json::append_double(out, value);
}

void append_probabilities(std::string& out, const Question& question, const Answer& answer) {
  out += R"("probabilities":{)";
  for (size_t i = 0; i < answer.probabilities.size(); ++i) {
    if (i > 0) out += ',';
    append_member(out, question.options[i].key, answer.probabilities[i]);
  }
  out += '}';
}

void append_choice(std::string& out, const Question& question, const Answer& answer) {
  out += R"({"type":"choice","choice":)";
  json::append_string(out, question.options[answer.best].key);
  out += ',';
  append_probabilities(out, question, answer);
}

void append_noul(std::string& out, const Answer& answer) {
  const double no = answer.probabilities[0];
  const double yes = answer.probabilities[1];
  out += R"({"type":"noul",)";
  append_member(out, "noul", yes);
  out += R"(,"probabilities":{)";
  append_member(out, "yes", yes);
  out += ',';
  append_member(out, "no", no);
  out += '}';
}

void append_score(std::string& out, const Question& question, const Answer& answer) {
  out += R"({"type":"score",)";
  append_member(out, "score", decision::expected_level(answer));
  out += R"(,"legend":{)";
  for (size_t i = 0; i < question.legend.size(); ++i) {
    if (i > 0) out += ',';
    json::append_string(out, question.options[i].key);
    out += ':';
    json::append_string(out, question.legend[i]);
  }
  out += "},";
  append_probabilities(out, question, answer);
}

void append_answer(std::string& out, const Question& question, const Answer& answer) {
  switch (question.type) {
    case decision::QuestionType::kChoice:
      append_choice(out, question, answer);
      break;
    case decision::QuestionType::kNoul:
      append_noul(out, answer);
      break;
    case decision::QuestionType::kScore:
      append_score(out, question, answer);
      break;
  }
  out += ',';
  append_member(out, "confidence", answer.probabilities[answer.best]);
  out += '}';
}

/// Takes out the part `request`, which holds the JSON of a multipart body.
std::string_view take_json_part(std::vector<Part>& parts) {
  const auto part = std::ranges::find(parts, "request", &Part::name);
  if (part == parts.end()) decision::refuse("request", "there is no part of this name; it holds the JSON");
  const std::string_view json = part->content;
  parts.erase(part);
  return json;
}

}  // namespace

decision::Request parse_systemone(std::string_view body, const ServedModel& model,
                                  std::string_view content_type) {
  std::vector<Part> parts;
  if (is_multipart(content_type)) {
    parts = parse_multipart(content_type, body);
    body = take_json_part(parts);
  }
  json::Value value = json::parse(body);
  std::vector<decision::Medium> images = take_assets(decision::require_object_body(value), parts);
  decision::Request request = decision::parse_request(std::move(value));
  if (!images.empty()) {
    std::ranges::move(images, std::back_inserter(request.images));
    decision::check_media_placeholders(request);
  }
  if (request.model == kSdkDefaultModel && std::ranges::find(model.names, request.model) == model.names.end())
    request.model.clear();
  check_served(request, model);
  return request;
}

std::string write_systemone(const decision::Request& request, std::span<const decision::Answer> answers,
                            const ServedModel& model, const ResponseInfo& info) {
  std::string out = R"({"id":)";
  json::append_string(out, "decision-" + (request.request_id.empty() ? info.request_id : request.request_id));
  out += R"(,"object":"structured_decision","created":)";
  json::append_integer(out, info.created);
  out += R"(,"model":)";
  json::append_untrusted_string(out, answering_name(request, model));
  out += R"(,"answers":{)";
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) out += ',';
    json::append_string(out, request.questions[i].id);
    out += ':';
    append_answer(out, request.questions[i], answers[i]);
  }
  out += R"(},"usage":{"input_tokens":)";
  json::append_integer(out, info.input_tokens);
  out += R"(,"output_tokens":0},"diagnostics":{)";
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i > 0) out += ',';
    json::append_string(out, request.questions[i].id);
    out += R"(:{"label_mass":1.0,"argmax_is_label":true})";
  }
  out += R"(},"joint":null})";
  return out;
}

}  // namespace d3::api
