// Compiles every kernel once per SIMD target (Highway's foreach_target) and gathers each target's in one
// table.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "cpu/kernels/kernel_table.h"

// Three targets are enough to test one by one: AVX-512, AVX2, and the baseline every x86-64 (or Arm) has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/kernels.cc"
// foreach_target must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/cache_control.h"
// clang-format on
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace d3::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The order matters: later files use earlier ones.
// clang-format off
#include "cpu/kernels/vectors-inl.h"
#include "cpu/kernels/rows-inl.h"
#include "cpu/kernels/vision-inl.h"
#include "cpu/kernels/delta_net-inl.h"
#include "cpu/kernels/product-inl.h"
#include "cpu/kernels/float16-inl.h"
#include "cpu/kernels/int8-inl.h"
// clang-format on

template <typename T>
constexpr TypedKernels<T> typed_kernels() {
  return {.rms_norm = rms_norm<T>,
          .silu_mul = silu_mul<T>,
          .store = store_row<T>,
          .store_sigmoid = store_sigmoid<T>,
          .norm_rotary = norm_rotary<T>,
          .conv_silu = conv_silu<T>,
          .gated_rms_norm = gated_rms_norm<T>,
          .softmax_block = softmax_block<T>,
          .scale_gate = scale_gate<T>,
          .layer_norm = layer_norm<T>,
          .store_bias = store_bias<T>,
          .bias_rotary = bias_rotary<T>,
          .bias_gelu_tanh = bias_gelu_tanh<T>,
          .bias_gelu = bias_gelu<T>,
          .quantize = quantize<T>};
}

}  // namespace

// consteval: code of this target must not run where the CPU may lack its instructions, and filling a table at
// the program's start would be such code.
consteval KernelTable make_table(const char* name) {
  return {.name = name,
          .f32 = typed_kernels<float>(),
          .bf16 = typed_kernels<Bf16>(),
          .widened = {.tile_rows = kTileRows,
                      .tile_words = widened_tile_words,
                      .pack_tile = pack_widened_tile,
                      .product = widened_product<Bf16>,
                      .product_float32 = widened_product<float>},
          .float16 = kFloat16Kernels,
          .float16_packing = kFloat16Packing,
          .int8 = kInt8Kernels,
          .int8_needs_vnni = kInt8NeedsVnni,
          .add = add_rows,
          .add_bias = add_bias,
          .add_weighted = add_weighted,
          .scale = scale_row,
          .l2_normalize = l2_normalize,
          .delta_gates = delta_gates,
          .delta_rule = delta_rule,
          .dequantize = dequantize};
}

}  // namespace d3::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace d3::cpu {
namespace {

struct Target {
  int64_t bit;  // hwy's own bit of the target
  KernelTable table;
};

// Best first.
constexpr Target kTargets[] = {
#if HWY_TARGETS & HWY_AVX3
    {HWY_AVX3, N_AVX3::make_table("avx512")},
#endif
#if HWY_TARGETS & HWY_AVX2
    {HWY_AVX2, N_AVX2::make_table("avx2")},
#endif
    {HWY_STATIC_TARGET, HWY_NAMESPACE::make_table("baseline")},
};

struct FeatureBits {
  unsigned ecx = 0;
  unsigned edx = 0;
};

/// CPUID leaf 7; none elsewhere.
FeatureBits feature_bits() {
  FeatureBits bits;
#if HWY_ARCH_X86
  unsigned a = 0;
  unsigned b = 0;
  __get_cpuid_count(7, 0, &a, &b, &bits.ecx, &bits.edx);
#endif
  return bits;
}

}  // namespace

// Intel's manual, CPUID leaf 7: AVX512_FP16 in EDX, AVX512_VNNI in ECX.
bool has_float16_products(const KernelTable& table) {
  return table.float16.tile_rows > 0 && (feature_bits().edx >> 23 & 1U) != 0;
}

bool has_int8_products(const KernelTable& table) {
  return table.int8.tile_rows > 0 && (!table.int8_needs_vnni || (feature_bits().ecx >> 11 & 1U) != 0);
}

std::vector<const KernelTable*> supported_kernel_tables() {
  std::vector<const KernelTable*> tables;
  const int64_t supported = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  for (const Target& target : kTargets)
    if (supported & target.bit) tables.push_back(&target.table);
  return tables;
}

const KernelTable& select_kernel_table(std::string_view name) {
  const auto supported = supported_kernel_tables();
  if (name.empty()) return *supported.front();
  for (const KernelTable* table : supported)
    if (name == table->name) return *table;
  std::string names;
  for (const KernelTable* table : supported) names += (names.empty() ? "" : ", ") + std::string(table->name);
  for (const Target& target : kTargets)
    if (name == target.table.name)
      throw Error(ErrorCode::kUnsupported, "CPU target '" + std::string(name) +
                                               "' is not supported by this CPU; it can run: " + names);
  throw Error(ErrorCode::kInvalidArgument,
              "unknown CPU target '" + std::string(name) + "'; this CPU can run: " + names);
}

}  // namespace d3::cpu
#endif  // HWY_ONCE
