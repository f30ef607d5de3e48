#include "cpu/rotary.h"

#include <cmath>

namespace d3::cpu {

RotaryTable::RotaryTable(double theta, int rotary_dim) {
  // PyTorch evaluates 1 / theta ** (arange(0, dim, 2) / dim) in fp32.
  for (int i = 0; i < rotary_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(rotary_dim);
    inv_freq_.push_back(1.0F / static_cast<float>(std::pow(theta, static_cast<double>(exponent))));
  }
}

void RotaryTable::reserve(int64_t count) {
  const auto ready = static_cast<int64_t>(cos_.size()) / half();
  for (int64_t position = ready; position < count; ++position) {
    for (const float frequency : inv_freq_) {
      const float angle = static_cast<float>(position) * frequency;
      cos_.push_back(static_cast<float>(std::cos(static_cast<double>(angle))));
      sin_.push_back(static_cast<float>(std::sin(static_cast<double>(angle))));
    }
  }
}

}  // namespace d3::cpu
