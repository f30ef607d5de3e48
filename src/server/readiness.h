// server/readiness.h: whether there is a model to ask. Set by the loading thread, read by all.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "api/api.h"
#include "engine/decision_model.h"

namespace d3::server {

/// The model with what the API says of it.
struct ServingModel {
  std::unique_ptr<engine::DecisionModel> model;
  api::ServedModel served;
};

/// From loading to ready to draining, and never back. Thread-safe.
class Readiness {
 public:
  void set_progress(double share);  ///< of loading, 0 to 1
  /// before_ready: called with the model at its final place.
  void set_ready(ServingModel model, const std::function<void(const ServingModel&)>& before_ready);
  void set_draining();

  /// The model, which lives as long as this object. Throws Error(kUnavailable) with the reason while loading
  /// (and how far it is) and while draining.
  ServingModel& model();
  /// Whether model() would not throw.
  bool is_ready() const;

 private:
  mutable std::mutex mutex_;
  double progress_ = 0;
  bool draining_ = false;
  std::unique_ptr<ServingModel> model_;  // set once
};

}  // namespace d3::server
