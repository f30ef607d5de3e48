// Compiles the kernels once per SIMD target (Highway's foreach_target).
#include "media/resize_kernels.h"

#include <algorithm>
#include <cstring>

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3 | HWY_AVX3_DL)  // 128-bit vectors gain nothing from them
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "media/resize_kernels.cc"
// foreach_target must come first.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace d3::media::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// CPUs without even the oldest target's vectors.

uint8_t rounded(int32_t sum, int precision) {
  return static_cast<uint8_t>(std::clamp((sum + (1 << (precision - 1))) >> precision, 0, 255));
}

void resize_row(const uint8_t* row, const ResizeAxis& axis, uint8_t* out) {
  const int16_t* weights = axis.weights.data();
  for (size_t i = 0; i < axis.first.size(); ++i, weights += axis.taps)
    for (int channel = 0; channel < 3; ++channel) {
      int32_t sum = 0;
      for (int tap = 0; tap < axis.count[i]; ++tap)
        sum += weights[tap] * row[(axis.first[i] + tap) * 3 + channel];
      *out++ = rounded(sum, axis.precision);
    }
}

void resize_columns(const uint8_t* image, size_t stride, const ResizeAxis& axis, size_t i, uint8_t* out) {
  const int16_t* weights = axis.weights.data() + i * static_cast<size_t>(axis.taps);
  const uint8_t* rows = image + static_cast<size_t>(axis.first[i]) * stride;
  for (size_t x = 0; x < stride; ++x) {
    int32_t sum = 0;
    for (size_t tap = 0; tap < static_cast<size_t>(axis.count[i]); ++tap)
      sum += weights[tap] * rows[tap * stride + x];
    out[x] = rounded(sum, axis.precision);
  }
}

#else

constexpr hn::FixedTag<uint8_t, 16> kBytes;
constexpr hn::FixedTag<uint8_t, 4> kFourBytes;
constexpr hn::FixedTag<int16_t, 8> kShorts;
constexpr hn::FixedTag<int32_t, 4> kInts;
using ByteVector = hn::Vec<decltype(kBytes)>;
using ShortVector = hn::Vec<decltype(kShorts)>;
using IntVector = hn::Vec<decltype(kInts)>;

/// a[2k] * b[2k] + a[2k+1] * b[2k+1] for k in 0..3.
HWY_INLINE IntVector dot_pairs(ShortVector a, ShortVector b) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  IntVector unused = hn::Zero(kInts);  // x86 adds neighbours (pmaddwd) and leaves the second sum alone
  return hn::ReorderWidenMulAccumulate(kInts, a, b, hn::Zero(kInts), unused);
#else
  const IntVector wide_a = hn::BitCast(kInts, a);
  const IntVector wide_b = hn::BitCast(kInts, b);
  const IntVector even =
      hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(wide_a)), hn::ShiftRight<16>(hn::ShiftLeft<16>(wide_b)));
  return hn::Add(even, hn::Mul(hn::ShiftRight<16>(wide_a), hn::ShiftRight<16>(wide_b)));
#endif
}

/// Two neighbouring weights in every lane.
HWY_INLINE ShortVector weight_pair(const int16_t* weights) {
  int32_t pair = 0;
  std::memcpy(&pair, weights, sizeof pair);
  return hn::BitCast(kShorts, hn::Set(kInts, pair));
}

HWY_INLINE void store_four(IntVector sum, int precision, uint8_t* out) {
  const IntVector half = hn::Set(kInts, 1 << (precision - 1));
  hn::StoreU(hn::DemoteTo(kFourBytes, hn::ShiftRightSame(hn::Add(sum, half), precision)), kFourBytes, out);
}

void resize_row(const uint8_t* row, const ResizeAxis& axis, uint8_t* out) {
  // Of four pixels r g b r g b .., the channels of the first two and of the last two side by side as 16-bit
  // values: r0 r1 g0 g1 b0 b1. 0x80 gives a zero byte.
  alignas(16) static constexpr uint8_t kFirst[16] = {0, 0x80, 3, 0x80, 1,    0x80, 4,    0x80,
                                                     2, 0x80, 5, 0x80, 0x80, 0x80, 0x80, 0x80};
  alignas(16) static constexpr uint8_t kSecond[16] = {6, 0x80, 9,  0x80, 7,    0x80, 10,   0x80,
                                                      8, 0x80, 11, 0x80, 0x80, 0x80, 0x80, 0x80};
  const ByteVector first = hn::Load(kBytes, kFirst);
  const ByteVector second = hn::Load(kBytes, kSecond);
  const int16_t* weights = axis.weights.data();
  for (size_t i = 0; i < axis.first.size(); ++i, weights += axis.taps, out += 3) {
    const uint8_t* pixels = row + size_t{3} * static_cast<size_t>(axis.first[i]);
    IntVector even = hn::Zero(kInts);
    IntVector odd = hn::Zero(kInts);
    for (int tap = 0; tap < axis.count[i]; tap += kTapGroup, pixels += 3 * kTapGroup) {
      const ByteVector four = hn::LoadU(kBytes, pixels);
      const ShortVector earlier = hn::BitCast(kShorts, hn::TableLookupBytesOr0(four, first));
      const ShortVector later = hn::BitCast(kShorts, hn::TableLookupBytesOr0(four, second));
      even = hn::Add(even, dot_pairs(earlier, weight_pair(weights + tap)));
      odd = hn::Add(odd, dot_pairs(later, weight_pair(weights + tap + 2)));
    }
    store_four(hn::Add(even, odd), axis.precision, out);
  }
}

HWY_INLINE ShortVector lower_shorts(ByteVector bytes) {
  return hn::BitCast(kShorts, hn::InterleaveLower(kBytes, bytes, hn::Zero(kBytes)));
}
HWY_INLINE ShortVector upper_shorts(ByteVector bytes) {
  return hn::BitCast(kShorts, hn::InterleaveUpper(kBytes, bytes, hn::Zero(kBytes)));
}

void resize_columns(const uint8_t* image, size_t stride, const ResizeAxis& axis, size_t i, uint8_t* out) {
  const int16_t* weights = axis.weights.data() + i * static_cast<size_t>(axis.taps);
  const uint8_t* rows = image + static_cast<size_t>(axis.first[i]) * stride;
  const int taps = axis.count[i];
  for (size_t x = 0; x < stride; x += 16) {
    IntVector sums[4] = {hn::Zero(kInts), hn::Zero(kInts), hn::Zero(kInts), hn::Zero(kInts)};
    for (int tap = 0; tap < taps; tap += 2) {
      const ShortVector weight = weight_pair(weights + tap);
      const uint8_t* upper = rows + static_cast<size_t>(tap) * stride + x;
      const uint8_t* lower = tap + 1 < taps ? upper + stride : upper;  // the weight beyond the last is 0
      const ByteVector a = hn::LoadU(kBytes, upper);
      const ByteVector b = hn::LoadU(kBytes, lower);
      const ByteVector left = hn::InterleaveLower(kBytes, a, b);
      const ByteVector right = hn::InterleaveUpper(kBytes, a, b);
      sums[0] = hn::Add(sums[0], dot_pairs(lower_shorts(left), weight));
      sums[1] = hn::Add(sums[1], dot_pairs(upper_shorts(left), weight));
      sums[2] = hn::Add(sums[2], dot_pairs(lower_shorts(right), weight));
      sums[3] = hn::Add(sums[3], dot_pairs(upper_shorts(right), weight));
    }
    for (size_t part = 0; part < 4; ++part) store_four(sums[part], axis.precision, out + x + part * 4);
  }
}

#endif

}  // namespace

// consteval: code of this target must not run where the CPU may lack its instructions, and filling a table at
// the program's start would be such code.
consteval ResizeKernels make_kernels(const char* name) {
  return {.name = name, .row = resize_row, .columns = resize_columns};
}

}  // namespace d3::media::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace d3::media {
namespace {

struct Target {
  int64_t bit;  // hwy's own bit of the target
  ResizeKernels kernels;
};

// Best first.
constexpr Target kTargets[] = {
#if HWY_TARGETS & HWY_AVX2
    {HWY_AVX2, N_AVX2::make_kernels("avx2")},
#endif
#if HWY_TARGETS & HWY_SSE4
    {HWY_SSE4, N_SSE4::make_kernels("sse4")},
#endif
    {HWY_STATIC_TARGET, HWY_NAMESPACE::make_kernels("baseline")},
};

}  // namespace

std::vector<const ResizeKernels*> supported_resize_kernels() {
  std::vector<const ResizeKernels*> supported;
  const int64_t targets = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  for (const Target& target : kTargets)
    if (targets & target.bit) supported.push_back(&target.kernels);
  return supported;
}

}  // namespace d3::media
#endif  // HWY_ONCE
