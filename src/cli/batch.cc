#include "cli/batch.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "api/systemone.h"
#include "decision/validation.h"
#include "json/parse.h"

namespace d3::cli {

std::string JsonLines::answer(const BatchLine& line, const decision::Request& request,
                              std::span<const decision::Answer> answers, int64_t tokens) const {
  // Nothing of the moment is in an answer: the same requests give the same file.
  const std::string body = api::write_systemone(
      request, answers, served_,
      {.request_id = fmt::format("line-{}", line.number), .created = 0, .input_tokens = tokens});
  return fmt::format(R"({{"line":{},{})", line.number, body.substr(1)) + '\n';
}

std::string JsonLines::error(const BatchLine& line, const api::ErrorReply& reply,
                             const char* /*message*/) const {
  return fmt::format(R"({{"line":{},{})", line.number, reply.body.substr(1)) + '\n';
}

Batch::Batch(engine::DecisionModel& model, const AnswerForm& form, const BatchOptions& options, Write write,
             Bad bad)
    : model_(model), form_(form), options_(options), write_(std::move(write)), bad_(std::move(bad)) {}

void Batch::add(BatchLine line, const std::string& body) {
  auto slot = std::make_shared<Slot>();
  try {
    // Whatever a request calls the model, the one that is loaded is meant.
    slot->request = std::make_shared<const decision::Request>(decision::parse_request(json::parse(body)));
    engine::PreparedRequest prepared = model_.preparer().prepare(slot->request);
    slot->tokens = prepared.total_tokens();
    model_.engine().submit(std::move(prepared), std::nullopt,
                           [slot, shared = shared_](engine::Outcome outcome) {
                             {
                               const std::lock_guard lock(shared->mutex);
                               slot->outcome = std::move(outcome);
                             }
                             shared->ready.notify_one();
                           });
  } catch (const Error& error) {
    return add_bad(std::move(line), error);
  }
  slot->line = std::move(line);
  push(std::move(slot));
}

void Batch::add_bad(BatchLine line, const Error& error) {
  auto slot = std::make_shared<Slot>(Slot{.line = std::move(line)});
  slot->outcome = engine::Outcome{.answers = {}, .error = std::make_exception_ptr(error)};
  push(std::move(slot));
}

void Batch::finish() {
  while (!slots_.empty()) write_ready(true);
}

void Batch::push(std::shared_ptr<Slot> slot) {
  tokens_ += slot->tokens;
  kept_bytes_ += slot->line.kept.size();
  slots_.push_back(std::move(slot));
  write_ready(false);
  while (is_full()) write_ready(true);
}

bool Batch::is_full() const {
  const bool is_large = tokens_ >= options_.max_tokens || kept_bytes_ >= options_.max_kept_bytes;
  return slots_.size() >= options_.max_requests || (is_large && slots_.size() > 1);
}

/// Writes the slots from the first on that have their outcome, in one piece.
void Batch::write_ready(bool wait_for_first) {
  std::deque<std::shared_ptr<Slot>> ready;
  {
    std::unique_lock lock(shared_->mutex);
    if (wait_for_first) shared_->ready.wait(lock, [&] { return slots_.front()->outcome.has_value(); });
    while (!slots_.empty() && slots_.front()->outcome) {
      ready.push_back(std::move(slots_.front()));
      slots_.pop_front();
    }
  }
  if (ready.empty()) return;
  std::string answers;
  for (const auto& slot : ready) {
    answers += text_of(*slot);
    tokens_ -= slot->tokens;
    kept_bytes_ -= slot->line.kept.size();
    ++progress_.lines;
    progress_.tokens += slot->tokens;
    progress_.end = slot->line.end;
  }
  write_(answers, progress_);
}

std::string Batch::text_of(const Slot& slot) {
  if (!slot.outcome->error) return form_.answer(slot.line, *slot.request, slot.outcome->answers, slot.tokens);
  ++progress_.bad;
  try {
    std::rethrow_exception(slot.outcome->error);
  } catch (const Error& error) {
    bad_(slot.line.number, error.what());
    return form_.error(slot.line, api::make_error_reply(error), error.what());
  } catch (const std::exception& error) {
    bad_(slot.line.number, error.what());
    return form_.error(slot.line, api::make_internal_error_reply(), error.what());
  }
}

}  // namespace d3::cli
