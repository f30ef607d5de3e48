#include "server/readiness.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace d3::server {

void Readiness::set_progress(double share) {
  const std::lock_guard lock(mutex_);
  progress_ = share;
}

void Readiness::set_ready(ServingModel model, const std::function<void(const ServingModel&)>& before_ready) {
  auto placed = std::make_unique<ServingModel>(std::move(model));
  before_ready(*placed);
  const std::lock_guard lock(mutex_);
  model_ = std::move(placed);
}

void Readiness::set_draining() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

bool Readiness::is_ready() const {
  const std::lock_guard lock(mutex_);
  return model_ && !draining_;
}

ServingModel& Readiness::model() {
  const std::lock_guard lock(mutex_);
  if (draining_) throw Error(ErrorCode::kUnavailable, "the server is shutting down");
  if (!model_)
    throw Error(ErrorCode::kUnavailable, fmt::format("the model is loading ({:.0f} %)", progress_ * 100));
  return *model_;
}

}  // namespace d3::server
