// cpu/kernels/kernel_table.h: every hand-written kernel of the CPU executor, as one table of functions per
// SIMD target.
//
// All kernels work on fp32 inside. T is the type activations are stored in between kernels: float or Bf16
// (rounded to nearest even). Pointers need no alignment unless said; inputs and outputs must not overlap
// unless said. Kernels allocate nothing, keep no state and may run on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/bf16.h"

namespace d3::cpu {

/// Tokens the delta rule advances at once; see delta_rule.
inline constexpr int kDeltaChunk = 4;
/// Key and value size of a Gated DeltaNet head.
inline constexpr int kDeltaHeadDim = 128;
/// Tokens that conv_silu and delta_rule are given at most per call: their buffers then stay in the L2 cache.
inline constexpr int kDeltaBlock = 32;

/// The inputs of one head for up to kDeltaBlock tokens.
struct DeltaRuleInput {
  int tokens = 0;
  const float* query = nullptr;  ///< [tokens, 128], L2-normalised and scaled
  const float* key = nullptr;    ///< [tokens, 128], L2-normalised
  const float* value = nullptr;  ///< [tokens, 128]
  const float* decay = nullptr;  ///< [tokens], exp(g)
  const float* beta = nullptr;   ///< [tokens]
};

/// Kernels whose activations are of type T.
template <typename T>
struct TypedKernels {
  /// out = x * rsqrt(mean(x²) + eps) * scale over n values; scale is 1 + weight (or the plain weight).
  void (*rms_norm)(const float* x, const float* scale, int n, float eps, T* out);

  /// out = silu(gate) * up, n values.
  void (*silu_mul)(const float* gate, const float* up, int n, T* out);

  /// out = value, n values.
  void (*store)(const float* value, int n, T* out);

  /// out = sigmoid(value), n values.
  void (*store_sigmoid)(const float* value, int n, T* out);

  /// RMSNorm over n values (scale as above), then rotary on the first 2 * half of them (value i pairs with i
  /// + half; cos and sin have `half` values), then times `factor`.
  void (*norm_rotary)(const float* x, const float* scale, int n, float eps, const float* cos,
                      const float* sin, int half, float factor, T* out);

  /// Depthwise causal convolution of 4 taps over time, then SiLU, for 128 neighbouring channels.
  /// rows[t] for t in -3 .. tokens-1 points at the channels of token t (nullptr: before the start, zeros).
  /// weight: [4, 128], tap-major, last tap = current token. out: [tokens, 128].
  void (*conv_silu)(const T* const* rows, int tokens, const float* weight, float* out);

  /// out = x * rsqrt(mean(x²) + eps) * weight * silu(z) over 128 values.
  void (*gated_rms_norm)(const float* x, const float* weight, float eps, const float* z, T* out);

  /// One row of online softmax over a block of scores. Reads scores[0 .. valid); writes numerators
  /// exp(score - max) to out[0 .. n) (zeros from `valid` on), updates the running maximum and sum (both fp32)
  /// and returns the factor by which earlier numerators must be multiplied. valid may be 0.
  float (*softmax_block)(const float* scores, int valid, int n, float* running_max, float* running_sum,
                         T* out);

  /// out = x * factor * gate, n values.
  void (*scale_gate)(const float* x, float factor, const float* gate, int n, T* out);

  /// LayerNorm: out = (x - mean) * rsqrt(variance + eps) * weight + bias over n values.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, int n, float eps, T* out);

  /// out = x + bias, n values.
  void (*store_bias)(const float* x, const float* bias, int n, T* out);

  /// Rotary over all n values of x + bias (value i pairs with i + n / 2; cos and sin have n / 2 values), then
  /// times `factor`. n is even.
  void (*bias_rotary)(const float* x, const float* bias, int n, const float* cos, const float* sin,
                      float factor, T* out);

  /// out = gelu(x + bias), n values: its tanh form, 0.5 y (1 + tanh(sqrt(2 / pi) (y + 0.044715 y³))), and the
  /// exact one, 0.5 y (1 + erf(y / sqrt(2))) (absolute error below 2e-7 of |y|).
  void (*bias_gelu_tanh)(const float* x, const float* bias, int n, T* out);
  void (*bias_gelu)(const float* x, const float* bias, int n, T* out);

  /// Symmetric quantisation of a row: q = round(x / scale) + 128 with scale = max|x| / 127; returns scale (0
  /// for a row of zeros).
  float (*quantize)(const T* x, int n, uint8_t* out);
};

/// Rows of activations cut into tiles of nearly equal height, so that none is so low that it wastes
/// registers.
struct TileRows {
  int rows = 0;
  int tiles = 0;

  /// At most `height` rows a tile.
  static TileRows of(int rows, int height) { return {rows, (rows + height - 1) / height}; }

  /// The first row of a tile; first(tiles) is `rows`.
  int first(int tile) const { return static_cast<int>(static_cast<int64_t>(tile) * rows / tiles); }

  /// How many rows a tile has.
  int height(int tile) const { return first(tile + 1) - first(tile); }
};

/// fp32 rows times bf16 or fp32 weights where they are: a strip at a time is transposed, and widened, in
/// cache, then multiplied and added in fp32. Exact for bf16 weights, and as fast as the CPU's fp32. A row's
/// results do not depend on how many rows there are.
struct WidenedKernels {
  int tile_rows;  ///< rows of x that one pass over a strip multiplies

  /// 32-bit words of a tile of tile_rows rows of k inputs.
  size_t (*tile_words)(int k);

  /// One tile of x [rows, k], rows <= tile_rows.
  void (*pack_tile)(const float* x, int rows, int k, uint32_t* tile);

  /// c [rows, n] = x · W for W [k, n]; tiles: x as tiles, tile_words(k) apart. weights[column] points at the
  /// k values of a column (a row of the checkpoint's [n, k] tensor, read in place).
  void (*product)(const uint32_t* tiles, const TileRows& rows, const Bf16* const* weights, int k, int n,
                  float* c);
  void (*product_float32)(const uint32_t* tiles, const TileRows& rows, const float* const* weights, int k,
                          int n, float* c);
};

/// fp32 rows times weights that are packed for it. tile_rows is 0, and all else null, where the target has no
/// such kernels; see has_float16_products and has_int8_products for the CPU.
struct PackedKernels {
  int tile_rows;

  size_t (*tile_words)(int k);  ///< as in WidenedKernels
  size_t (*packed_bytes)(int k, int n);

  /// Packs W [k, n], its columns given as in WidenedKernels. packed: at a cache line, packed_bytes.
  void (*pack_columns)(const Bf16* const* weights, int k, int n, std::byte* packed);

  void (*pack_tile)(const float* x, int rows, int k, uint32_t* tile);  ///< as in WidenedKernels

  /// c [rows, n] (+)= x · W.
  void (*product)(const uint32_t* tiles, const TileRows& rows, const std::byte* packed, int k, int n,
                  bool accumulate, float* c);
};

/// Right-hand sides of the float16 products that are activations.
struct Float16Packing {
  void (*transposed)(const float* rows, int k, int n, std::byte* packed);  ///< rows [n, k]
  void (*plain)(const float* rows, int k, int n, std::byte* packed);       ///< rows [k, n]
};

struct KernelTable {
  const char* name;  ///< "avx512", "avx2", "baseline"
  TypedKernels<float> f32;
  TypedKernels<Bf16> bf16;
  WidenedKernels widened;

  /// bf16 weights in fp16, twice as fast as in fp32: both sides are scaled by powers of two, which loses
  /// nothing but the smallest of values, activations are rounded to fp16 (11 bits), and up to 64 products at
  /// a time are summed in fp16, those sums in fp32. Scaled to 1 and 512 no sum of 64 overflows fp16's 65504.
  PackedKernels float16;
  Float16Packing float16_packing;

  /// int8: weights and activations are quantised symmetrically, max|x| / 127, in groups of 256 inputs of a
  /// column and of a row; a group's products are summed exactly, the groups in fp32.
  PackedKernels int8;
  bool int8_needs_vnni;  ///< whether they are for CPUs with AVX512-VNNI only; see has_int8_products

  /// x += y, n values.
  void (*add)(const float* y, int n, float* x);

  /// x += y + bias, n values.
  void (*add_bias)(const float* y, const float* bias, int n, float* x);

  /// x += the sum of weights[j] * rows[j], j in 0..3, n values.
  void (*add_weighted)(const float* const rows[4], const float weights[4], int n, float* x);

  /// x *= factor, n values.
  void (*scale)(float factor, int n, float* x);

  /// x = x * rsqrt(sum x² + 1e-6) * factor over 128 values, for each of `rows` rows.
  void (*l2_normalize)(float* x, int rows, float factor);

  /// decay = exp(-exp_a_log * softplus(a + dt_bias)), beta = sigmoid(b): the two gates of one head, `tokens`
  /// values.
  void (*delta_gates)(const float* a, const float* b, float exp_a_log, float dt_bias, int tokens,
                      float* decay, float* beta);

  /// The gated delta rule (Yang et al., "Gated Delta Networks", 2024), S_t = decay_t S_{t-1} + k_t d_tᵀ with
  /// d_t = beta_t (v_t - decay_t S_{t-1}ᵀ k_t), o_t = S_tᵀ q_t, in chunks of kDeltaChunk tokens: within a
  /// chunk the d_t follow from one pass over the state and a small triangular solve (the UT transform), and
  /// one more pass updates the state. state: fp32 [128 key x 128 value] in the kernel's own column-blocked
  /// order (all targets accept only states they wrote themselves; all zeros is the start). out: [tokens,
  /// 128].
  void (*delta_rule)(const DeltaRuleInput& input, float* state, float* out);

  /// int32 sums of u8 activations (quantize) and s8 weights -> fp32, in place: out[c] = (sum[c] - offset[c])
  /// * row_scale * column_scale[c], where offset[c] = 128 * the sum of column c's weights.
  void (*dequantize)(int32_t* sums, const int32_t* offset, float row_scale, const float* column_scale, int n);

  template <typename T>
  const TypedKernels<T>& typed() const;
};

template <>
inline const TypedKernels<float>& KernelTable::typed<float>() const {
  return f32;
}
template <>
inline const TypedKernels<Bf16>& KernelTable::typed<Bf16>() const {
  return bf16;
}

/// Whether the table has kernels in fp16 or int8 and this CPU has their instructions.
bool has_float16_products(const KernelTable& table);
bool has_int8_products(const KernelTable& table);

/// The tables this program holds and this CPU can run, best first.
std::vector<const KernelTable*> supported_kernel_tables();

/// The table of that name, or the best one for an empty name. Throws Error(kInvalidArgument) for an unknown
/// name and Error(kUnsupported) for one this CPU lacks; both messages list what there is.
const KernelTable& select_kernel_table(std::string_view name);

}  // namespace d3::cpu
