// cpu/delta_net.h: the token mixer of a linear_attention layer between its projections: convolution, gated
// delta rule, gated norm.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/config.h"
#include "cpu/machine.h"
#include "model/layout.h"
#include "model/text_tensors.h"

namespace d3::cpu {

/// The small weights of one layer, fp32, in the order the kernels read them. K key heads, V value heads of
/// 128.
struct DeltaNetWeights {
  int key_heads = 0;
  int value_heads = 0;
  float rms_norm_eps = 0.0F;
  std::vector<float> conv;       ///< [2K + V head blocks of 128 channels][4 taps][128]
  std::vector<float> exp_a_log;  ///< [V], exp(A_log)
  std::vector<float> dt_bias;    ///< [V]
  std::vector<float> norm;       ///< [128]

  DeltaNetWeights() = default;
  DeltaNetWeights(const checkpoint::TextConfig& config, const model::LinearAttentionTensors& tensors);
  int channels() const { return (2 * key_heads + value_heads) * kDeltaHeadDim; }
};

/// The projections of a batch's rows.
template <typename T>
struct DeltaNetRows {
  const float* qkv = nullptr;  ///< [rows, channels]: all q heads, all k heads, all v heads
  const float* z = nullptr;    ///< [rows, V*128]; with last_only [sequences, V*128]
  const float* ba = nullptr;   ///< [rows, 2V]: b, then a
  T* out = nullptr;            ///< [rows, V*128]; with last_only [sequences, V*128]
  bool last_only = false;      ///< only each sequence's last row is wanted, in the order of trees and tails
};

/// Runs all sequences. A tree's prefix runs once; every tail starts from its state and its last rows.
/// Parallel over trees and value heads.
template <typename T>
void gated_delta_net(Machine& machine, const DeltaNetWeights& weights, const DeltaNetRows<T>& rows,
                     std::span<const model::SequenceTree> trees);

}  // namespace d3::cpu
