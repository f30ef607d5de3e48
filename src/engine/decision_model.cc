#include "engine/decision_model.h"

#include <future>
#include <utility>

namespace d3::engine {

DecisionModel::DecisionModel(Parts parts, const EngineOptions& options)
    : resources_(std::move(parts.resources)),
      info_(std::move(parts.info)),
      preparer_(std::move(parts.encode), std::move(parts.codes), info_.max_length),
      engine_(std::move(parts.executor), parts.temperature, options) {}

std::vector<decision::Answer> DecisionModel::answer(PreparedRequest request) {
  std::promise<Outcome> promise;
  engine_.submit(std::move(request), std::nullopt,
                 [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
  Outcome outcome = promise.get_future().get();
  if (outcome.error) std::rethrow_exception(outcome.error);
  return std::move(outcome.answers);
}

}  // namespace d3::engine
