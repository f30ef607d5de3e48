// tests/cpu/random_values.h: seeded inputs for kernel tests.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "cpu/bf16.h"

namespace d3::test {

class RandomValues {
 public:
  explicit RandomValues(unsigned seed) : engine_(seed) {}

  float normal(float deviation = 1.0F) { return std::normal_distribution<float>(0.0F, deviation)(engine_); }
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }

  std::vector<float> normals(size_t count, float deviation = 1.0F) {
    std::vector<float> values(count);
    for (float& value : values) value = normal(deviation);
    return values;
  }

 private:
  std::mt19937 engine_;
};

/// float -> the activation type T, rounded.
template <typename T>
std::vector<T> narrow(const std::vector<float>& values);
template <>
inline std::vector<float> narrow(const std::vector<float>& values) {
  return values;
}
template <>
inline std::vector<cpu::Bf16> narrow(const std::vector<float>& values) {
  std::vector<cpu::Bf16> out;
  for (const float value : values) out.push_back(cpu::to_bf16(value));
  return out;
}

/// The relative rounding error of T.
template <typename T>
constexpr double rounding();
template <>
constexpr double rounding<float>() {
  return 1.0 / (1 << 23);
}
template <>
constexpr double rounding<cpu::Bf16>() {
  return 1.0 / (1 << 8);
}

}  // namespace d3::test
