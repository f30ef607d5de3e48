// cpu/kernels/float16-inl.h: fp32 rows times bf16 weights in fp16 (KernelTable::float16), for AVX-512 CPUs
// with AVX512-FP16. The loops are those of product-inl.h; weights are packed once, so strips need no
// widening.
//
// The two instructions of AVX512-FP16 stand in assembly: neither Highway's targets nor the compilers' flags
// for this one's have them, and whether the CPU does is asked at run time.

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// Products that are summed in fp16 before they are added in fp32: so many, or all where they are no more than
// kFloat16ShortSum.
constexpr int kFloat16Sum = 48;
constexpr int kFloat16ShortSum = 64;
constexpr int kFloat16Columns = 64;  // of a strip
// A tile begins with its rows' factors, packed weights with theirs: what undoes the scale.
constexpr int kFactorWords = 16;

using Halves = hn::Vec<hn::ScalableTag<uint16_t>>;  // 32 fp16 values

/// sum + a * b, 32 fp16 values.
HWY_INLINE Halves add_half_product(Halves a, Halves b, Halves sum) {
  auto raw = sum.raw;
  asm("vfmadd231ph %2, %1, %0" : "+v"(raw) : "v"(b.raw), "v"(a.raw));
  return Halves{raw};
}

/// 2^power; -126 <= power <= 127.
HWY_INLINE float power_of_two(int power) {
  const uint32_t bits = static_cast<uint32_t>(power + 127) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

/// The power of two that brings a value into [2^target, 2^(target + 1)), within what fp32 can undo.
HWY_INLINE int scaling_power(float value, int target) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const int exponent = static_cast<int>(bits >> 23 & 0xFFU) - 127;
  return std::clamp(target - exponent, -120, 120);
}
constexpr int kWeightTarget = -1;  // weights up to 1
constexpr int kRowTarget = 8;      // activations up to 512

/// The largest |weight| of n columns of k values.
float largest_weight(const Bf16* const* weights, int k, int n) {
  const hn::ScalableTag<uint16_t> d;
  const auto magnitude = hn::Set(d, uint16_t{0x7FFF});
  const int step = static_cast<int>(hn::Lanes(d));
  auto largest = hn::Zero(d);
  uint16_t rest = 0;
  for (int column = 0; column < n; ++column) {
    const auto* bits = reinterpret_cast<const uint16_t*>(weights[column]);
    int i = 0;
    for (; i + step <= k; i += step) largest = hn::Max(largest, hn::And(hn::LoadU(d, bits + i), magnitude));
    for (; i < k; ++i) rest = std::max(rest, static_cast<uint16_t>(bits[i] & 0x7FFFU));
  }
  HWY_ALIGN uint16_t values[HWY_MAX_BYTES / sizeof(uint16_t)];
  hn::Store(largest, d, values);
  for (int i = 0; i < step; ++i) rest = std::max(rest, values[i]);
  return to_float(Bf16{rest});
}

/// Packs a right-hand side [k, n] of values up to `largest`: slices of kDepth inputs, in each strip by strip
/// of 64 columns. fill(input, depth, column, strip) writes fp32 [depth][kTileColumns] of the columns from
/// `column` on.
template <typename Fill>
HWY_INLINE void pack_float16(float largest, int k, int n, std::byte* packed, const Fill& fill) {
  const hn::Rebind<hwy::float16_t, F32> d16;
  const hn::Rebind<uint16_t, F32> bits;
  HWY_ALIGN float strip[kDepth * kTileColumns];
  const int power = scaling_power(largest, kWeightTarget);
  const Vec scale = hn::Set(F32(), power_of_two(power));
  *reinterpret_cast<float*>(packed) = power_of_two(-power);
  auto* to = reinterpret_cast<uint16_t*>(packed + kFactorWords * sizeof(uint32_t));
  for (int input = 0; input < k; input += kDepth) {
    const int depth = std::min(kDepth, k - input);
    for (int column = 0; column < n; column += kFloat16Columns, to += depth * kFloat16Columns) {
      for (int part = 0; part < kFloat16Columns; part += kTileColumns) {
        fill(input, depth, std::min(column + part, n - 1), strip);
        for (int i = 0; i < depth; ++i) {
          for (int v = 0; v < kTileColumns; v += static_cast<int>(lanes())) {
            const Vec value = hn::Mul(hn::Load(F32(), strip + i * kTileColumns + v), scale);
            hn::StoreU(hn::BitCast(bits, hn::DemoteTo(d16, value)), bits,
                       to + i * kFloat16Columns + part + v);
          }
        }
      }
    }
  }
}

size_t float16_packed_bytes(int k, int n) {
  const int columns = (n + kFloat16Columns - 1) / kFloat16Columns * kFloat16Columns;
  return kFactorWords * sizeof(uint32_t) +
         static_cast<size_t>(k) * static_cast<size_t>(columns) * sizeof(uint16_t);
}

/// See PackedKernels.
void pack_float16_columns(const Bf16* const* weights, int k, int n, std::byte* packed) {
  pack_float16(largest_weight(weights, k, n), k, n, packed,
               [&](int input, int depth, int column, float* strip) {
                 widen_strip(StripColumns<Bf16>(weights + column, n - column).weights, input, depth, strip);
               });
}

/// See Float16Packing.
void pack_float16_transposed(const float* rows, int k, int n, std::byte* packed) {
  pack_float16(largest_magnitude(rows, n * k), k, n, packed,
               [&](int input, int depth, int column, float* strip) {
                 for (int j = 0; j < kTileColumns; ++j) {
                   const float* from = rows + static_cast<ptrdiff_t>(std::min(column + j, n - 1)) * k + input;
                   for (int i = 0; i < depth; ++i) strip[i * kTileColumns + j] = from[i];
                 }
               });
}

/// See Float16Packing.
void pack_float16_plain(const float* rows, int k, int n, std::byte* packed) {
  pack_float16(
      largest_magnitude(rows, n * k), k, n, packed, [&](int input, int depth, int column, float* strip) {
        const int count = std::min(kTileColumns, n - column);
        for (int i = 0; i < depth; ++i) {
          std::copy_n(rows + static_cast<ptrdiff_t>(input + i) * n + column, count, strip + i * kTileColumns);
          std::fill(strip + i * kTileColumns + count, strip + (i + 1) * kTileColumns, 0.0F);
        }
      });
}

size_t float16_tile_words(int k) { return kFactorWords + slice_words(kTileRows, k); }

/// See WidenedKernels; every word is the same half twice.
void pack_float16_tile(const float* x, int rows, int k, uint32_t* tile) {
  const hn::Rebind<hwy::float16_t, F32> d16;
  const hn::Rebind<uint16_t, F32> bits;
  const hn::RebindToUnsigned<F32> words;
  float scales[kTileRows];
  for (int row = 0; row < rows; ++row) {
    const int power = scaling_power(largest_magnitude(x + static_cast<ptrdiff_t>(row) * k, k), kRowTarget);
    scales[row] = power_of_two(power);
    reinterpret_cast<float*>(tile)[row] = power_of_two(-power);
  }
  tile += kFactorWords;
  for (int first = 0; first < k; first += kDepth) {
    for (int row = 0; row < rows; ++row, tile += kDepth) {
      const float* from = x + static_cast<ptrdiff_t>(row) * k + first;
      const Vec scale = hn::Set(F32(), scales[row]);
      // Whole vectors: a row has room for them, and nobody reads the inputs beyond the last.
      for_each_vector(std::min(kDepth, k - first), [&](size_t i, size_t count) {
        const auto half = hn::BitCast(bits, hn::DemoteTo(d16, hn::Mul(load(from + i, count), scale)));
        const auto word = hn::PromoteTo(words, half);
        hn::StoreU(hn::Or(word, hn::ShiftLeft<16>(word)), words, tile + i);
      });
    }
  }
}

/// c[row] (+)= factor * sum for 32 values.
HWY_INLINE void add_float16_sum(Halves sum, Vec factor, bool accumulate, float* c) {
  const F32 d;
  const hn::Rebind<hwy::float16_t, F32> d16;
  const hn::Half<hn::ScalableTag<uint16_t>> half;
  const Vec low = hn::Mul(hn::PromoteTo(d, hn::BitCast(d16, hn::LowerHalf(half, sum))), factor);
  const Vec high = hn::Mul(hn::PromoteTo(d, hn::BitCast(d16, hn::UpperHalf(half, sum))), factor);
  hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, c), low) : low, d, c);
  hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, c + lanes()), high) : high, d, c + lanes());
}

/// sum0 and sum1 [kRows] += tile[kRows], kDepth apart, x strip[64].
template <int kRows>
HWY_INLINE void multiply_float16_input(const uint32_t* HWY_RESTRICT tile, const uint16_t* HWY_RESTRICT strip,
                                       Halves* sum0, Halves* sum1) {
  const hn::ScalableTag<uint16_t> d;
  const hn::ScalableTag<uint32_t> words;
  const Halves b0 = hn::LoadU(d, strip);
  const Halves b1 = hn::LoadU(d, strip + hn::Lanes(d));
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    const Halves a = hn::BitCast(d, hn::Set(words, tile[row * kDepth]));
    sum0[row] = add_half_product(a, b0, sum0[row]);
    sum1[row] = add_half_product(a, b1, sum1[row]);
  }
}

/// c [kRows, 64] (+)= factors[row] * tile[kRows][depth] x strip[depth][64].
template <int kRows>
D3_INNERMOST void multiply_float16_tile(const uint32_t* HWY_RESTRICT tile, const uint16_t* HWY_RESTRICT strip,
                                        int depth, const float* factors, bool accumulate,
                                        float* HWY_RESTRICT c, ptrdiff_t stride) {
  const hn::ScalableTag<uint16_t> d;
  const int most = depth <= kFloat16ShortSum ? kFloat16ShortSum : kFloat16Sum;
  for (int first = 0; first < depth; first += most) {
    Halves sum0[kRows];
    Halves sum1[kRows];
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) sum0[row] = sum1[row] = hn::Zero(d);
    const int inputs = std::min(most, depth - first);
    int i = 0;
    for (; i + 2 <= inputs; i += 2) {
      multiply_float16_input<kRows>(tile, strip, sum0, sum1);
      multiply_float16_input<kRows>(tile + 1, strip + kFloat16Columns, sum0, sum1);
      tile += 2;
      strip += 2 * kFloat16Columns;
    }
    if (i < inputs) {
      multiply_float16_input<kRows>(tile++, strip, sum0, sum1);
      strip += kFloat16Columns;
    }
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const Vec factor = hn::Set(F32(), factors[row]);
      add_float16_sum(sum0[row], factor, accumulate || first > 0, c + row * stride);
      add_float16_sum(sum1[row], factor, accumulate || first > 0, c + row * stride + hn::Lanes(d));
    }
  }
}

using MultiplyFloat16Tile = void (*)(const uint32_t*, const uint16_t*, int, const float*, bool, float*,
                                     ptrdiff_t);

template <int... kRows>
constexpr std::array<MultiplyFloat16Tile, sizeof...(kRows)> float16_tile_kernels(
    std::integer_sequence<int, kRows...>) {
  return {multiply_float16_tile<kRows + 1>...};
}

constexpr auto kMultiplyFloat16Tile = float16_tile_kernels(std::make_integer_sequence<int, kTileRows>());

/// See PackedKernels.
void float16_product(const uint32_t* tiles, const TileRows& rows, const std::byte* packed, int k, int n,
                     bool accumulate, float* c) {
  const size_t tile_size = float16_tile_words(k);
  const float column_factor = *reinterpret_cast<const float*>(packed);
  const auto* strip = reinterpret_cast<const uint16_t*>(packed + kFactorWords * sizeof(uint32_t));
  for (int input = 0; input < k; input += kDepth) {
    const int depth = std::min(kDepth, k - input);
    const Ahead slice = next_slice(kDepth, n, kFloat16Columns, input + kDepth >= k);
    for (int column = 0; column < n; column += kFloat16Columns, strip += depth * kFloat16Columns) {
      const auto multiply = [&](int tile, int height, bool add, float* to, ptrdiff_t stride) {
        const uint32_t* from = tiles + static_cast<size_t>(tile) * tile_size;
        float factors[kTileRows];
        for (int i = 0; i < height; ++i) factors[i] = reinterpret_cast<const float*>(from)[i] * column_factor;
        from += kFactorWords + static_cast<ptrdiff_t>(input) * height;
        slice.ask(from + height * kDepth, column / kFloat16Columns);
        kMultiplyFloat16Tile[static_cast<size_t>(height - 1)](from, strip, depth, factors, add, to, stride);
      };
      multiply_strip<kFloat16Columns>(multiply, rows, strip + depth * kFloat16Columns,
                                      depth * kFloat16Columns * 2, column, n, accumulate || input > 0, c);
    }
  }
}

constexpr PackedKernels kFloat16Kernels = {.tile_rows = kTileRows,
                                           .tile_words = float16_tile_words,
                                           .packed_bytes = float16_packed_bytes,
                                           .pack_columns = pack_float16_columns,
                                           .pack_tile = pack_float16_tile,
                                           .product = float16_product};
constexpr Float16Packing kFloat16Packing = {.transposed = pack_float16_transposed,
                                            .plain = pack_float16_plain};
#else
constexpr PackedKernels kFloat16Kernels = {};
constexpr Float16Packing kFloat16Packing = {};
#endif
