// engine/decision_model.h: a loaded model that answers requests: preparation and engine together.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decision/request.h"
#include "engine/engine.h"
#include "engine/prepare.h"

namespace d3::engine {

/// What the model is, for people and for `GET /v1/models`.
struct ModelInfo {
  std::string model_name;             ///< from the manifest, may be empty
  std::string repo_id;                ///< from the manifest, may be empty
  std::optional<int64_t> max_length;  ///< tokens of one question's prompt; none: not limited
  bool takes_media = false;           ///< images and videos
};

/// All members may be called from any thread.
class DecisionModel {
 public:
  struct Parts {
    ModelInfo info;
    Encode encode;
    std::vector<std::string> codes;
    double temperature = 1.0;
    std::unique_ptr<model::Executor> executor;
    /// None where the model reads no images and videos; its cache is the engine's, whatever it says here.
    std::optional<MediaParts> media = std::nullopt;
    std::shared_ptr<const void> resources = nullptr;  ///< outlives encode and executor: what they refer to
  };
  DecisionModel(Parts parts, const EngineOptions& options);

  const ModelInfo& info() const { return info_; }
  const Preparer& preparer() const { return preparer_; }
  Engine& engine() { return engine_; }

  /// Asks and waits. Throws what Engine::submit throws, and the outcome's error.
  std::vector<decision::Answer> answer(PreparedRequest request);

 private:
  const std::shared_ptr<const void> resources_;
  const ModelInfo info_;
  Engine engine_;
  const Preparer preparer_;  // reads the engine's cache
};

}  // namespace d3::engine
