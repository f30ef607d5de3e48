// cpu/kernels/int8-inl.h: fp32 rows times int8 weights (KernelTable::int8), exact sums on every x86-64 CPU.
// On AVX-512 by AVX512-VNNI, whose instruction stands in assembly like those of float16-inl.h. Its operand
// that may come from memory is the signed one: activations are s8, and weights u8 with 128 added, which a
// row's own sum takes away again. AVX2 multiplies the same numbers as pairs of 16 bits, where no pair of
// products overflows (vpmaddubsw, which multiplies bytes, would saturate): activations are widened when they
// are tiled, weights strip by strip in the L1 cache.

constexpr bool kInt8NeedsVnni = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3;

#if HWY_ARCH_X86
constexpr bool kInt8Widened = HWY_TARGET == HWY_AVX2;  // bytes to 16 bits
constexpr int kInt8Group = 256;                        // inputs that have one scale
constexpr int kInt8Bytes = kInt8Group / 4;             // words of a row's bytes in a group
constexpr int kInt8Steps = kInt8Widened ? 2 : 1;       // words that a word of bytes is multiplied as
constexpr int kInt8Words = kInt8Steps * kInt8Bytes;    // of a row's tile in a group
constexpr int kInt8Columns = kTileColumns;             // of a strip
constexpr int kInt8Terms = 2 * 16;  // words before a tile's group: factors, then sums, of its rows
constexpr float kInt8Largest = 127.0F;

using Sums = hn::Vec<hn::ScalableTag<int32_t>>;

/// sum + the products of the weights and activations in each lane: four of u8 and s8 or, widened, two.
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE Sums add_int8_products(Sums weights, Sums a, Sums sum) {
  auto raw = sum.raw;
  asm("vpdpbusd %2, %1, %0" : "+v"(raw) : "v"(weights.raw), "v"(a.raw));
  return Sums{raw};
}
#elif HWY_TARGET == HWY_AVX2
// In assembly, too: compilers know that integers may be added in any order, and reorder until sums no longer
// fit in registers.
HWY_INLINE Sums add_int8_products(Sums weights, Sums a, Sums sum) {
  auto raw = sum.raw;
  auto pairs = sum.raw;
  asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(raw), "=&x"(pairs) : "x"(weights.raw), "x"(a.raw));
  return Sums{raw};
}
#else
HWY_INLINE Sums add_int8_products(Sums weights, Sums a, Sums sum) {
  const hn::ScalableTag<int32_t> d;
  HWY_ALIGN int32_t lanes_of[3][HWY_MAX_BYTES / sizeof(int32_t)];
  hn::Store(weights, d, lanes_of[0]);
  hn::Store(a, d, lanes_of[1]);
  hn::Store(sum, d, lanes_of[2]);
  for (size_t lane = 0; lane < hn::Lanes(d); ++lane)
    for (int byte = 0; byte < 4; ++byte)
      lanes_of[2][lane] += static_cast<uint8_t>(lanes_of[0][lane] >> 8 * byte) *
                           static_cast<int8_t>(lanes_of[1][lane] >> 8 * byte);
  return hn::Load(d, lanes_of[2]);
}
#endif

/// The same; `a` is one word for all lanes.
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE Sums add_int8_products(Sums weights, const uint32_t* a, Sums sum) {
  auto raw = sum.raw;
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(raw) : "v"(weights.raw), "m"(*a));
  return Sums{raw};
}
#else
HWY_INLINE Sums add_int8_products(Sums weights, const uint32_t* a, Sums sum) {
  return add_int8_products(
      weights, hn::BitCast(hn::ScalableTag<int32_t>(), hn::Set(hn::ScalableTag<uint32_t>(), *a)), sum);
}
#endif

#if HWY_TARGET == HWY_AVX2
/// A row's words of a group, bytes (s8) to s16: first the even bytes of each word, then the odd ones.
HWY_INLINE void widen_activations(uint32_t* words) {
  const hn::ScalableTag<int16_t> d16;
  const hn::ScalableTag<uint32_t> du;
  for (int i = 0; i < kInt8Bytes; i += static_cast<int>(hn::Lanes(du))) {
    const auto both = hn::BitCast(d16, hn::LoadU(du, words + i));
    hn::StoreU(hn::BitCast(du, hn::ShiftRight<8>(hn::ShiftLeft<8>(both))), du, words + i);
    hn::StoreU(hn::BitCast(du, hn::ShiftRight<8>(both)), du, words + kInt8Bytes + i);
  }
}

/// `words` rows of kInt8Columns words of bytes (u8) to two rows of u16 each in `strip`, which it returns: the
/// even bytes, the odd ones.
HWY_INLINE const uint32_t* widen_weights(const uint32_t* bytes, int words, uint32_t* strip) {
  const hn::ScalableTag<uint16_t> d16;
  const hn::ScalableTag<uint32_t> du;
  const auto low = hn::Set(d16, 0xFF);
  uint32_t* to = strip;
  for (int i = 0; i < words; ++i, bytes += kInt8Columns, to += 2 * kInt8Columns) {
    for (int v = 0; v < kInt8Columns; v += static_cast<int>(hn::Lanes(du))) {
      const auto both = hn::BitCast(d16, hn::LoadU(du, bytes + v));
      hn::StoreU(hn::BitCast(du, hn::And(both, low)), du, to + v);
      hn::StoreU(hn::BitCast(du, hn::ShiftRight<8>(both)), du, to + kInt8Columns + v);
    }
  }
  return strip;
}
#else
HWY_INLINE void widen_activations(uint32_t*) {}
HWY_INLINE const uint32_t* widen_weights(const uint32_t* bytes, int, uint32_t*) { return bytes; }
#endif

constexpr int int8_groups(int k) { return (k + kInt8Group - 1) / kInt8Group; }
/// Words of a row in a group of `inputs` inputs.
constexpr int int8_words(int inputs) { return (inputs + 3) / 4; }

size_t int8_tile_words(int k) {
  return static_cast<size_t>(int8_groups(k)) * static_cast<size_t>(kInt8Terms + kTileRows * kInt8Words);
}

/// Groups, in each strip by strip: the columns' factors, then words of four inputs, column by column.
size_t int8_packed_bytes(int k, int n) {
  const auto strips = static_cast<size_t>((n + kInt8Columns - 1) / kInt8Columns);
  size_t words = 0;
  for (int input = 0; input < k; input += kInt8Group)
    words += static_cast<size_t>((1 + int8_words(std::min(kInt8Group, k - input))) * kInt8Columns);
  return strips * words * sizeof(uint32_t);
}

/// One vector of columns of a group: strip fp32 [depth][kInt8Columns] -> factors and words.
HWY_INLINE void pack_int8_vector(const float* strip, int depth, float* factors, uint32_t* words) {
  const F32 d;
  const hn::RebindToUnsigned<F32> du;
  const hn::RebindToSigned<F32> di;
  Vec largest = hn::Zero(d);
  for (int i = 0; i < depth; ++i) largest = hn::Max(largest, hn::Abs(hn::Load(d, strip + i * kInt8Columns)));
  hn::StoreU(hn::Mul(largest, hn::Set(d, 1.0F / kInt8Largest)), d, factors);
  const Vec inverse =
      hn::IfThenElseZero(hn::Gt(largest, hn::Zero(d)), hn::Div(hn::Set(d, kInt8Largest), largest));
  for (int i = 0; i < depth; i += 4, words += kInt8Columns) {
    auto word = hn::Zero(du);
    const auto add = [&](int input, auto shifted) {
      if (i + input >= depth) return;
      const auto q = hn::NearestInt(hn::Mul(hn::Load(d, strip + (i + input) * kInt8Columns), inverse));
      word = hn::Or(word, shifted(hn::BitCast(du, hn::Add(q, hn::Set(di, 128)))));
    };
    add(0, [](auto q) { return q; });
    add(1, [](auto q) { return hn::ShiftLeft<8>(q); });
    add(2, [](auto q) { return hn::ShiftLeft<16>(q); });
    add(3, [](auto q) { return hn::ShiftLeft<24>(q); });
    hn::StoreU(word, du, words);
  }
}

/// See PackedKernels.
void pack_int8_columns(const Bf16* const* weights, int k, int n, std::byte* packed) {
  HWY_ALIGN float strip[kInt8Group * kInt8Columns];
  auto* to = reinterpret_cast<uint32_t*>(packed);
  for (int input = 0; input < k; input += kInt8Group) {
    const int depth = std::min(kInt8Group, k - input);
    for (int column = 0; column < n; column += kInt8Columns) {
      widen_strip(StripColumns<Bf16>(weights + column, n - column).weights, input, depth, strip);
      for (int v = 0; v < kInt8Columns; v += static_cast<int>(lanes()))
        pack_int8_vector(strip + v, depth, reinterpret_cast<float*>(to) + v, to + kInt8Columns + v);
      to += (1 + int8_words(depth)) * kInt8Columns;
    }
  }
}

/// Quantises up to a group of a row's inputs into words; returns the factor and adds up what was written.
HWY_INLINE float quantize_group(const float* x, int inputs, uint32_t* words, int32_t& sum) {
  const F32 d;
  const hn::RebindToUnsigned<F32> du;
  const hn::Rebind<uint8_t, F32> d8;
  // Adding this rounds a small number to an integer, which is then in the float's lowest bits.
  const Vec magic = hn::Set(d, 12582912.0F);
  const float largest = largest_magnitude(x, inputs);
  const Vec inverse = hn::Set(d, largest > 0.0F ? kInt8Largest / largest : 0.0F);
  auto* bytes = reinterpret_cast<uint8_t*>(words);
  auto sums = hn::Zero(du);
  // Whole vectors: a row has room for them; beyond the last input they are zeros.
  for_each_vector(inputs, [&](size_t i, size_t count) HWY_ATTR {
    const auto q = hn::BitCast(du, hn::MulAdd(load(x + i, count), inverse, magic));
    sums = hn::Add(sums, hn::Sub(q, hn::BitCast(du, magic)));
    hn::StoreU(hn::TruncateTo(d8, q), d8, bytes + i);
  });
  sum = static_cast<int32_t>(hn::GetLane(hn::SumOfLanes(du, sums)));
  return largest / kInt8Largest;
}

/// See WidenedKernels; groups, each with its terms, then the words of its rows. x is read row by row, as it
/// lies in memory.
void pack_int8_tile(const float* x, int rows, int k, uint32_t* tile) {
  const ptrdiff_t group_words = kInt8Terms + static_cast<ptrdiff_t>(rows) * kInt8Words;
  for (int row = 0; row < rows; ++row, x += k) {
    uint32_t* group = tile;
    for (int first = 0; first < k; first += kInt8Group, group += group_words) {
      auto* factors = reinterpret_cast<float*>(group);
      auto* starts = reinterpret_cast<int32_t*>(group) + kInt8Terms / 2;
      uint32_t* words = group + kInt8Terms + row * kInt8Words;
      int32_t sum = 0;
      factors[row] = quantize_group(x + first, std::min(kInt8Group, k - first), words, sum);
      widen_activations(words);
      starts[row] = -128 * sum;
    }
  }
}

/// One word of each row: sum0 and sum1 [kRows] += tile[kRows], kInt8Words apart, x strip[kInt8Columns].
template <int kRows>
HWY_INLINE void multiply_int8_word(const uint32_t* HWY_RESTRICT tile, const uint32_t* HWY_RESTRICT strip,
                                   Sums* sum0, Sums* sum1) {
  const hn::ScalableTag<int32_t> d;
  const hn::ScalableTag<uint32_t> du;
  const Sums b0 = hn::BitCast(d, hn::LoadU(du, strip));
  const Sums b1 = hn::BitCast(d, hn::LoadU(du, strip + hn::Lanes(du)));
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    if (row < kMemoryRows) {
      sum0[row] = add_int8_products(b0, tile + row * kInt8Words, sum0[row]);
      sum1[row] = add_int8_products(b1, tile + row * kInt8Words, sum1[row]);
      continue;
    }
    const Sums a = hn::BitCast(d, hn::Set(du, tile[row * kInt8Words]));
    sum0[row] = add_int8_products(b0, a, sum0[row]);
    sum1[row] = add_int8_products(b1, a, sum1[row]);
  }
}

/// c [kRows, kInt8Columns] (+)= one group of a tile x one of a strip: its columns' factors and its words.
template <int kRows>
D3_INNERMOST void multiply_int8_tile(const uint32_t* HWY_RESTRICT tile, const float* HWY_RESTRICT factors,
                                     const uint32_t* HWY_RESTRICT strip, int words, bool accumulate,
                                     float* HWY_RESTRICT c, ptrdiff_t stride) {
  const F32 d;
  const hn::ScalableTag<int32_t> di;
  const auto* row_factors = reinterpret_cast<const float*>(tile);
  const auto* starts = reinterpret_cast<const int32_t*>(tile) + kInt8Terms / 2;
  tile += kInt8Terms;
  Sums sum0[kRows];
  Sums sum1[kRows];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) sum0[row] = sum1[row] = hn::Set(di, starts[row]);
  for (int i = 0; i < words; ++i, ++tile)
    for (int step = 0; step < kInt8Steps; ++step, strip += kInt8Columns)
      multiply_int8_word<kRows>(tile + step * kInt8Bytes, strip, sum0, sum1);
  const Vec factor0 = hn::LoadU(d, factors);
  const Vec factor1 = hn::LoadU(d, factors + lanes());
  const auto finish = [&](auto add) HWY_ATTR {
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row, c += stride) {
      // The factors' product first: it does not wait for the sums.
      const Vec factor = hn::Set(d, row_factors[row]);
      hn::StoreU(add(hn::ConvertTo(d, sum0[row]), hn::Mul(factor, factor0), c), d, c);
      hn::StoreU(add(hn::ConvertTo(d, sum1[row]), hn::Mul(factor, factor1), c + lanes()), d, c + lanes());
    }
  };
  if (accumulate)
    finish([&](Vec sum, Vec by, const float* to) HWY_ATTR { return hn::MulAdd(sum, by, hn::LoadU(d, to)); });
  else
    finish([&](Vec sum, Vec by, const float*) HWY_ATTR { return hn::Mul(sum, by); });
}

using MultiplyInt8Tile = void (*)(const uint32_t*, const float*, const uint32_t*, int, bool, float*,
                                  ptrdiff_t);

template <int... kRows>
constexpr std::array<MultiplyInt8Tile, sizeof...(kRows)> int8_tile_kernels(
    std::integer_sequence<int, kRows...>) {
  return {multiply_int8_tile<kRows + 1>...};
}

constexpr auto kMultiplyInt8Tile = int8_tile_kernels(std::make_integer_sequence<int, kTileRows>());

/// See PackedKernels.
void int8_product(const uint32_t* tiles, const TileRows& rows, const std::byte* packed, int k, int n,
                  bool accumulate, float* c) {
  HWY_ALIGN uint32_t widened[kInt8Widened ? kInt8Words * kInt8Columns : 1];
  const size_t tile_size = int8_tile_words(k);
  const auto* strip = reinterpret_cast<const uint32_t*>(packed);
  for (int input = 0; input < k; input += kInt8Group) {
    const int words = int8_words(std::min(kInt8Group, k - input));
    const int group = input / kInt8Group;
    const int strip_size = (1 + words) * kInt8Columns;
    const Ahead slice = next_slice(kInt8Words, n, kInt8Columns, input + kInt8Group >= k);
    for (int column = 0; column < n; column += kInt8Columns, strip += strip_size) {
      const auto* factors = reinterpret_cast<const float*>(strip);
      const uint32_t* weights = widen_weights(strip + kInt8Columns, words, widened);
      const auto multiply = [&](int tile, int height, bool add, float* to, ptrdiff_t stride) {
        const ptrdiff_t slice_words = kInt8Terms + height * kInt8Words;
        const uint32_t* from = tiles + static_cast<size_t>(tile) * tile_size + group * slice_words;
        slice.ask(from + slice_words, column / kInt8Columns);
        kMultiplyInt8Tile[static_cast<size_t>(height - 1)](from, factors, weights, words, add, to, stride);
      };
      multiply_strip<kInt8Columns>(multiply, rows, strip + strip_size, strip_size * 4, column, n,
                                   accumulate || input > 0, c);
    }
  }
}

constexpr PackedKernels kInt8Kernels = {.tile_rows = kTileRows,
                                        .tile_words = int8_tile_words,
                                        .packed_bytes = int8_packed_bytes,
                                        .pack_columns = pack_int8_columns,
                                        .pack_tile = pack_int8_tile,
                                        .product = int8_product};
#else
constexpr PackedKernels kInt8Kernels = {};
#endif
