#include "cli/question_options.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "json/write.h"

namespace d3::cli {
namespace {

// JSON is checked when it is parsed, so that bytes that are no UTF-8 are refused there.
void append_json(std::string& out, std::string_view text) { json::append_string(out, text); }

/// Length of an id before ": ", as in "kind: What is it?"; 0 when the text has none. Ids are made of small
/// letters, digits, "_", "-" and ".", so that a sentence ("Note: ...") is not taken for one.
size_t id_length(std::string_view text) {
  const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-.");
  return end != std::string_view::npos && text.substr(end, 2) == ": " ? end : 0;
}

/// "key=description" as a member; a key alone has no description.
void append_member(std::string& out, std::string_view option) {
  const size_t equals = option.find('=');
  append_json(out, option.substr(0, equals));
  out += ':';
  if (equals == std::string_view::npos)
    out += "null";
  else
    append_json(out, option.substr(equals + 1));
}

void append_criteria(std::string& out, const std::string& type, const std::vector<std::string>& options) {
  if (type == "noul" && options.empty()) return;
  const bool list = type == "score";
  out += list ? R"(,"criteria":[)" : R"(,"criteria":{)";
  for (size_t i = 0; i < options.size(); ++i) {
    if (i > 0) out += ',';
    if (list)
      append_json(out, options[i]);
    else
      append_member(out, options[i]);
  }
  out += list ? ']' : '}';
}

}  // namespace

void QuestionOptions::add_to(CLI::App& app) {
  const auto add = [&](const char* type, const char* help) {
    app.add_option_function<std::string>(
           std::string("--") + type, [this, type](const std::string& text) { add_question(type, text); },
           help)
        ->type_name("[ID: ]INSTRUCTIONS")
        ->trigger_on_parse()
        ->group("Questions");
  };
  add("choice",
      "Ask which option fits best; its options follow, e.g. --choice 'kind: What is it?' --option a=Ant");
  add("noul",
      "Ask whether something is true; --option true=TEXT and --option false=TEXT may describe the sides");
  add("score",
      "Ask how much; its levels follow from low to high, e.g. --score 'How late?' --option 'on time' "
      "--option late");
  app.add_option_function<std::string>(
         "--option", [this](const std::string& text) { add_option(text); },
         "An option of the question before it: KEY or KEY=DESCRIPTION; for --score the text of a level")
      ->type_name("OPTION")
      ->trigger_on_parse()
      ->group("Questions");
}

void QuestionOptions::add_question(const std::string& type, const std::string& text) {
  const size_t id = id_length(text);
  questions_.push_back({.type = type,
                        .id = id > 0 ? text.substr(0, id) : fmt::format("q{}", questions_.size() + 1),
                        .instructions = id > 0 ? text.substr(id + 2) : text,
                        .options = {}});
}

void QuestionOptions::add_option(const std::string& text) {
  if (questions_.empty())
    throw CLI::ValidationError("--option", "must follow the --choice, --noul or --score that it belongs to");
  questions_.back().options.push_back(text);
}

std::string QuestionOptions::body(const std::string& state) const {
  std::string out = R"({"state":)";
  append_json(out, state);
  out += R"(,"questions":{)";
  for (auto question = questions_.begin(); question != questions_.end(); ++question) {
    if (std::any_of(questions_.begin(), question, [&](const Question& q) { return q.id == question->id; }))
      throw UsageError(fmt::format("two questions have the id {}", question->id));
    if (question != questions_.begin()) out += ',';
    append_json(out, question->id);
    out += fmt::format(R"(:{{"type":"{}","instructions":)", question->type);
    append_json(out, question->instructions);
    append_criteria(out, question->type, question->options);
    out += '}';
  }
  out += "}}";
  return out;
}

}  // namespace d3::cli
