#include "cli/batch.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "api/error_body.h"
#include "api/systemone.h"
#include "decision/validation.h"
#include "json/parse.h"

namespace d3::cli {

Batch::Batch(engine::DecisionModel& model, api::ServedModel served, const BatchOptions& options, Write write,
             Bad bad)
    : model_(model),
      served_(std::move(served)),
      options_(options),
      write_(std::move(write)),
      bad_(std::move(bad)) {}

void Batch::add(int64_t line, const std::string& body, uint64_t end) {
  auto slot = std::make_shared<Slot>(Slot{.line = line, .end = end});
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
    return add_bad(line, error, end);
  }
  push(std::move(slot));
}

void Batch::add_bad(int64_t line, const Error& error, uint64_t end) {
  auto slot = std::make_shared<Slot>(Slot{.line = line, .end = end});
  slot->outcome = engine::Outcome{.answers = {}, .error = std::make_exception_ptr(error)};
  push(std::move(slot));
}

void Batch::finish() {
  while (!slots_.empty()) write_ready(true);
}

void Batch::push(std::shared_ptr<Slot> slot) {
  tokens_ += slot->tokens;
  slots_.push_back(std::move(slot));
  write_ready(false);
  while (is_full()) write_ready(true);
}

bool Batch::is_full() const {
  return slots_.size() >= options_.max_requests || (tokens_ >= options_.max_tokens && slots_.size() > 1);
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
  std::string lines;
  for (const auto& slot : ready) {
    lines += text_of(*slot);
    tokens_ -= slot->tokens;
    ++progress_.lines;
    progress_.tokens += slot->tokens;
    progress_.end = slot->end;
  }
  write_(lines, progress_);
}

std::string Batch::text_of(const Slot& slot) {
  std::string body;
  if (!slot.outcome->error) {
    // Nothing of the moment is in an answer: the same requests give the same file.
    body = api::write_systemone(
        *slot.request, slot.outcome->answers, served_,
        {.request_id = fmt::format("line-{}", slot.line), .created = 0, .input_tokens = slot.tokens});
  } else {
    ++progress_.bad;
    try {
      std::rethrow_exception(slot.outcome->error);
    } catch (const Error& error) {
      bad_(slot.line, error.what());
      body = api::make_error_reply(error).body;
    } catch (const std::exception& error) {
      bad_(slot.line, error.what());
      body = api::make_internal_error_reply().body;
    }
  }
  return fmt::format(R"({{"line":{},{})", slot.line, body.substr(1)) + '\n';
}

}  // namespace d3::cli
