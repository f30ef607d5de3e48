#include "cli/ask_command.h"

#include <chrono>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "api/systemone.h"
#include "cli/input.h"
#include "cli/table.h"
#include "decision/validation.h"
#include "json/parse.h"
#include "server/request_id.h"

namespace d3::cli {
namespace {

/// The same bytes that POST /v1/systemone answers with.
std::string json_answer(const decision::Request& request, std::span<const decision::Answer> answers,
                        const std::string& model_name, int64_t input_tokens) {
  api::ServedModel model;
  model.names = {model_name};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return api::write_systemone(request, answers, model,
                              {.request_id = server::RequestIds().next(),
                               .created = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                               .input_tokens = input_tokens});
}

}  // namespace

CLI::App* AskCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("ask", "Answer one request and exit");
  model_.add_to(*command);
  command
      ->add_option("--state", state_,
                   "What is known: a text, @FILE for a file's content, - for standard input")
      ->type_name("TEXT|@FILE|-");
  media_.add_to(*command);
  questions_.add_to(*command);
  command
      ->add_option(
          "--request", request_,
          "A whole request as POST /v1/systemone takes it, instead of --state and questions; - or nothing "
          "at all reads it from standard input")
      ->type_name("FILE.json|-");
  command->add_flag("--json", json_, "Print the answer as POST /v1/systemone would, not a table");
  command->footer(
      "Example:\n"
      "  d3 ask demo --state 'Write a Python function that merges two sorted lists.' \\\n"
      "    --choice 'kind: What kind of work is this?' --option code='Writing or fixing code' \\\n"
      "      --option math=Mathematics --option chat='Anything else' \\\n"
      "    --noul 'reasoning: Does answering this need multi-step reasoning?'\n"
      "  d3 ask ./nano --state '' --image photo.jpg --noul 'Is the parcel damaged?'");
  return command;
}

int AskCommand::run(const Context& context) {
  const std::string body = this->body(context);
  // Its faults are told before the model is loaded. Whatever it calls the model, MODEL is meant.
  const auto request = std::make_shared<decision::Request>(decision::parse_request(json::parse(body)));
  media_.append_to(*request);
  const auto model = load_model(model_.load_options(context), context);
  const auto start = std::chrono::steady_clock::now();
  engine::PreparedRequest prepared = model->preparer().prepare(request);
  const int64_t input_tokens = prepared.total_tokens();
  const std::vector<decision::Answer> answers = model->answer(std::move(prepared));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  if (json_) {
    context.out.print(json_answer(*request, answers, model_.name(), input_tokens) + '\n');
    return kSuccess;
  }
  context.out.print(answer_table(*request, answers, context.out));
  context.out.flush();
  if (context.err.terminal)
    context.err.print(fmt::format("\n{} tokens in {:.2f} s, {}\n", input_tokens, taken.count(),
                                  model->engine().dtype_name()));
  return kSuccess;
}

std::string AskCommand::body(const Context& context) const {
  if (!state_ && questions_.empty()) {
    if (request_ && *request_ != "-") return read_file(*request_);
    if (!request_ && context.in_is_terminal)
      throw UsageError(
          "nothing is asked: give --state and a question (--choice, --noul, --score), or --request");
    return read_all(context.in, "standard input");
  }
  if (request_) throw UsageError("--request has state and questions in it: give it alone");
  if (!state_) throw UsageError("--state is missing");
  if (questions_.empty()) throw UsageError("a question is missing: --choice, --noul or --score");
  return questions_.body(state(context));
}

std::string AskCommand::state(const Context& context) const {
  if (*state_ == "-") return read_all(context.in, "standard input");
  if (state_->starts_with('@')) return read_file(state_->substr(1));
  return *state_;
}

}  // namespace d3::cli
