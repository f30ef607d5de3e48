// media/resize_kernels.h: the two inner loops of resizing, as one pair of functions per SIMD target.
//
// Both sum products of 16-bit weights and 8-bit values exactly in int32 (resize_axis() sees to it that sums
// fit), two taps at a time, in vectors of 128 bits; every target gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace d3::media {

/// A row's or an image's bytes are followed by this many bytes that the kernels may read and write.
inline constexpr size_t kVectorSlack = 16;

/// Taps come in groups of this many; weights beyond the last tap are zeros.
inline constexpr int kTapGroup = 4;

/// One axis; output i is clamp((Σ_j weights[i][j] * input[first[i] + j] + 2^(precision-1)) >> precision, 0,
/// 255).
struct ResizeAxis {
  int taps = 0;       ///< weights of each output: a multiple of kTapGroup
  int precision = 0;  ///< at most 22
  std::vector<int> first;
  std::vector<int> count;        ///< taps within the input
  std::vector<int16_t> weights;  ///< [out, taps]
};

struct ResizeKernels {
  const char* name;  ///< "avx2", "sse4", "baseline"

  /// A row of RGB pixels, [in, 3] -> [out, 3], along `axis`. Reads and writes up to kVectorSlack bytes beyond
  /// the ends.
  void (*row)(const uint8_t* row, const ResizeAxis& axis, uint8_t* out);

  /// Output row i of `axis` from an image whose rows have `stride` bytes. Reads and writes up to kVectorSlack
  /// bytes beyond the ends of rows.
  void (*columns)(const uint8_t* image, size_t stride, const ResizeAxis& axis, size_t i, uint8_t* out);
};

/// The kernels that this CPU can run, best first.
std::vector<const ResizeKernels*> supported_resize_kernels();

}  // namespace d3::media
