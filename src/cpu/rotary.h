// cpu/rotary.h: rotary angles (Su et al., "RoFormer", 2021) as tables by position.
#pragma once

#include <cstdint>
#include <vector>

namespace d3::cpu {

/// The rotations of one row: cos and sin by frequency.
struct RotaryAngles {
  const float* cos = nullptr;
  const float* sin = nullptr;
};

/// cos and sin of position * theta^(-2i / rotary_dim) for i in [0, rotary_dim / 2), angles in fp32 as the
/// reference computes them.
class RotaryTable {
 public:
  RotaryTable(double theta, int rotary_dim);

  /// Makes positions 0 .. count - 1 available.
  void reserve(int64_t count);

  int half() const { return static_cast<int>(inv_freq_.size()); }
  const float* cos(int64_t position) const { return cos_.data() + position * half(); }
  const float* sin(int64_t position) const { return sin_.data() + position * half(); }
  RotaryAngles at(int64_t position) const { return {cos(position), sin(position)}; }

 private:
  std::vector<float> inv_freq_;
  std::vector<float> cos_;  // [positions, half]
  std::vector<float> sin_;
};

}  // namespace d3::cpu
