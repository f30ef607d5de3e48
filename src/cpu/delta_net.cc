#include "cpu/delta_net.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cpu/weight_rows.h"

namespace d3::cpu {
namespace {

constexpr int kTaps = 4;
constexpr int kHistory = kTaps - 1;
constexpr int kBlockFloats = kDeltaBlock * kDeltaHeadDim;
constexpr int kStateFloats = kDeltaHeadDim * kDeltaHeadDim;

/// A worker's buffers, all fp32.
struct Buffers {
  float* query;
  float* key;
  float* value;
  float* out;
  float* decay;
  float* beta;
  float* gate_a;
  float* gate_b;
  float* state;
  float* prefix_state;

  explicit Buffers(WorkerScratch& scratch) {
    const int floats = 4 * kBlockFloats + 4 * kDeltaBlock + 2 * kStateFloats;
    float* at = scratch.values.reserve(static_cast<size_t>(floats));
    const auto take = [&at](int count) {
      float* taken = at;
      at += count;
      return taken;
    };
    query = take(kBlockFloats);
    key = take(kBlockFloats);
    value = take(kBlockFloats);
    out = take(kBlockFloats);
    decay = take(kDeltaBlock);
    beta = take(kDeltaBlock);
    gate_a = take(kDeltaBlock);
    gate_b = take(kDeltaBlock);
    state = take(kStateFloats);
    prefix_state = take(kStateFloats);
  }
};

/// One value head of one layer, walking the rows of a sequence.
template <typename T>
class HeadRunner {
 public:
  HeadRunner(const KernelTable& kernels, const DeltaNetWeights& weights, const DeltaNetRows<T>& rows,
             int head, const Buffers& buffers)
      : kernels_(kernels), weights_(weights), rows_(rows), head_(head), buffers_(buffers) {}

  /// Advances buffers.state over `run`, which follows `before` (possibly empty). last_out: the row of `out`
  /// (and z) for the run's last token when only that is wanted, -1 when no output is, kAllRows for every
  /// row's.
  static constexpr int64_t kAllRows = -2;
  void run(const model::RowRun& run, const model::RowRun& before, int64_t last_out) {
    for (int64_t first = 0; first < run.rows; first += kDeltaBlock) {
      const int tokens = static_cast<int>(std::min<int64_t>(kDeltaBlock, run.rows - first));
      convolve(run, before, first, tokens);
      gates(run.first + first, tokens);
      kernels_.delta_rule({.tokens = tokens,
                           .query = buffers_.query,
                           .key = buffers_.key,
                           .value = buffers_.value,
                           .decay = buffers_.decay,
                           .beta = buffers_.beta},
                          buffers_.state, buffers_.out);
      if (last_out == kAllRows) {
        for (int t = 0; t < tokens; ++t) write_out(t, run.first + first + t);
      } else if (last_out >= 0 && first + tokens == run.rows) {
        write_out(tokens - 1, last_out);
      }
    }
  }

 private:
  void convolve(const model::RowRun& run, const model::RowRun& before, int64_t first, int tokens) {
    const int key_head = head_ / (weights_.value_heads / weights_.key_heads);
    convolve_head(run, before, first, tokens, key_head, buffers_.query);
    convolve_head(run, before, first, tokens, weights_.key_heads + key_head, buffers_.key);
    convolve_head(run, before, first, tokens, 2 * weights_.key_heads + head_, buffers_.value);
    kernels_.l2_normalize(buffers_.query, tokens, 1.0F / std::sqrt(static_cast<float>(kDeltaHeadDim)));
    kernels_.l2_normalize(buffers_.key, tokens, 1.0F);
  }

  void convolve_head(const model::RowRun& run, const model::RowRun& before, int64_t first, int tokens,
                     int block, float* out) {
    std::array<const float*, kHistory + kDeltaBlock> pointers{};
    const int64_t channels = weights_.channels();
    for (int t = -kHistory; t < tokens; ++t) {
      const int64_t at = first + t;
      int64_t row = -1;
      if (at >= 0)
        row = run.first + at;
      else if (before.rows + at >= 0)
        row = before.end() + at;
      pointers[static_cast<size_t>(t + kHistory)] =
          row < 0 ? nullptr : rows_.qkv + row * channels + block * kDeltaHeadDim;
    }
    kernels_.f32.conv_silu(pointers.data() + kHistory, tokens,
                           weights_.conv.data() + block * kTaps * kDeltaHeadDim, out);
  }

  void gates(int64_t row, int tokens) {
    const int64_t stride = 2 * static_cast<int64_t>(weights_.value_heads);
    for (int t = 0; t < tokens; ++t) {
      const float* ba = rows_.ba + (row + t) * stride;
      buffers_.gate_b[t] = ba[head_];
      buffers_.gate_a[t] = ba[weights_.value_heads + head_];
    }
    kernels_.delta_gates(buffers_.gate_a, buffers_.gate_b, weights_.exp_a_log[static_cast<size_t>(head_)],
                         weights_.dt_bias[static_cast<size_t>(head_)], tokens, buffers_.decay, buffers_.beta);
  }

  void write_out(int token, int64_t row) {
    const int64_t at = (row * weights_.value_heads + head_) * kDeltaHeadDim;
    kernels_.typed<T>().gated_rms_norm(buffers_.out + static_cast<ptrdiff_t>(token) * kDeltaHeadDim,
                                       weights_.norm.data(), weights_.rms_norm_eps, rows_.z + at,
                                       rows_.out + at);
  }

  const KernelTable& kernels_;
  const DeltaNetWeights& weights_;
  const DeltaNetRows<T>& rows_;
  const int head_;
  const Buffers& buffers_;
};

/// conv1d.weight [channels, 1, 4] -> [channels / 128][4][128].
std::vector<float> conv_by_head(const std::vector<float>& weight) {
  std::vector<float> out(weight.size());
  const size_t channels = weight.size() / kTaps;
  for (size_t channel = 0; channel < channels; ++channel)
    for (size_t tap = 0; tap < kTaps; ++tap)
      out[(channel / kDeltaHeadDim * kTaps + tap) * kDeltaHeadDim + channel % kDeltaHeadDim] =
          weight[channel * kTaps + tap];
  return out;
}

}  // namespace

DeltaNetWeights::DeltaNetWeights(const checkpoint::TextConfig& config,
                                 const model::LinearAttentionTensors& tensors)
    : key_heads(config.linear_num_key_heads),
      value_heads(config.linear_num_value_heads),
      rms_norm_eps(config.rms_norm_eps),
      conv(conv_by_head(read_floats(*tensors.conv1d))),
      exp_a_log(read_floats(*tensors.A_log)),
      dt_bias(read_floats(*tensors.dt_bias)),
      norm(read_floats(*tensors.norm)) {
  for (float& value : exp_a_log) value = std::exp(value);
}

template <typename T>
void gated_delta_net(Machine& machine, const DeltaNetWeights& weights, const DeltaNetRows<T>& rows,
                     std::span<const model::SequenceTree> trees) {
  std::vector<int64_t> first_sequence;
  int64_t sequences = 0;
  for (const model::SequenceTree& tree : trees) {
    first_sequence.push_back(sequences);
    sequences += static_cast<int64_t>(tree.tails.size());
  }
  const auto heads = static_cast<size_t>(weights.value_heads);
  machine.pool.parallel_for(trees.size() * heads, [&](size_t item, int worker) {
    using Runner = HeadRunner<T>;
    const model::SequenceTree& tree = trees[item / heads];
    const Buffers buffers(machine.scratch[static_cast<size_t>(worker)]);
    Runner runner(machine.kernels, weights, rows, static_cast<int>(item % heads), buffers);
    std::fill_n(buffers.state, kStateFloats, 0.0F);
    runner.run(tree.prefix, {}, rows.last_only ? -1 : Runner::kAllRows);
    if (tree.tails.size() > 1) std::copy_n(buffers.state, kStateFloats, buffers.prefix_state);
    for (size_t i = 0; i < tree.tails.size(); ++i) {
      if (i > 0) std::copy_n(buffers.prefix_state, kStateFloats, buffers.state);
      const int64_t sequence = first_sequence[item / heads] + static_cast<int64_t>(i);
      runner.run(tree.tails[i], tree.prefix, rows.last_only ? sequence : Runner::kAllRows);
    }
  });
}

template void gated_delta_net(Machine&, const DeltaNetWeights&, const DeltaNetRows<float>&,
                              std::span<const model::SequenceTree>);
template void gated_delta_net(Machine&, const DeltaNetWeights&, const DeltaNetRows<Bf16>&,
                              std::span<const model::SequenceTree>);

}  // namespace d3::cpu
