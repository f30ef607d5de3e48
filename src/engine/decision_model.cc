#include "engine/decision_model.h"

#include <future>
#include <utility>

namespace d3::engine {
namespace {

ModelInfo info_of(const DecisionModel::Parts& parts) {
  ModelInfo info = parts.info;
  info.takes_media = parts.media.has_value();
  return info;
}

std::optional<MediaParts> with_cache(std::optional<MediaParts> media, VisionCache& cache) {
  if (media) media->cache = &cache;
  return media;
}

}  // namespace

DecisionModel::DecisionModel(Parts parts, const EngineOptions& options)
    : resources_(std::move(parts.resources)),
      info_(info_of(parts)),
      engine_(std::move(parts.executor), parts.temperature, options),
      preparer_(std::move(parts.encode), std::move(parts.codes), info_.max_length,
                with_cache(std::move(parts.media), engine_.vision_cache())) {}

std::vector<decision::Answer> DecisionModel::answer(PreparedRequest request) {
  std::promise<Outcome> promise;
  engine_.submit(std::move(request), std::nullopt,
                 [&](Outcome outcome) { promise.set_value(std::move(outcome)); });
  Outcome outcome = promise.get_future().get();
  if (outcome.error) std::rethrow_exception(outcome.error);
  return std::move(outcome.answers);
}

}  // namespace d3::engine
