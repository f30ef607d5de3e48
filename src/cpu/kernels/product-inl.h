// cpu/kernels/product-inl.h: fp32 rows times bf16 or fp32 weights, bf16 ones widened in cache: exact products
// of what is stored, at the rate of fp32 multiply-adds, for every target. A row's results do not depend on
// the rows beside it.
//
// The loops are Goto's (Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008): a
// strip of kTileColumns outputs x kDepth inputs is transposed and widened into the L1 cache once and
// multiplied with every tile of kTileRows rows, whose sums stay in registers. The weights are read as
// checkpoints store them, so a mapped file needs no packing and no second copy.

// Vectors of columns and rows of a tile: what the target's registers hold beside the operands.
constexpr int kTileVectors = 2;
constexpr int kTileRows = HWY_LANES(float) >= 16 ? 12 : 6;
constexpr int kTileColumns = kTileVectors * static_cast<int>(HWY_LANES(float));
// Inputs a strip is widened for: with 32 columns 24 KiB, which an L1 cache holds beside a tile's rows.
constexpr int kDepth = 192;
// Rows of a tile whose values are read from memory by the multiply-adds themselves; see add_product.
constexpr int kMemoryRows = 8;

// The innermost loops are left out of the thread sanitizer, which would make them a hundred times slower.
// What they read and write is read and written by checked code before and after them.
#undef D3_INNERMOST
#define D3_INNERMOST __attribute__((no_sanitize_thread))

// Inputs in a block of 128 bits.
template <typename Weight>
constexpr int kBlockInputs = 16 / static_cast<int>(sizeof(Weight));

#if HWY_TARGET != HWY_SCALAR
/// One block from each of weights[0], weights[4], .. at `input`.
template <typename Weight>
HWY_INLINE Vec load_every_fourth(const Weight* const* weights, int input) {
  using Quarter = hn::Full128<float>;
  const auto at = [&](int column) {
    return hn::LoadU(Quarter(), reinterpret_cast<const float*>(weights[column] + input));
  };
#if HWY_MAX_BYTES == 64
  const hn::Full256<float> half;
  return hn::Combine(F32(), hn::Combine(half, at(12), at(8)), hn::Combine(half, at(4), at(0)));
#elif HWY_MAX_BYTES == 32
  return hn::Combine(F32(), at(4), at(0));
#else
  return at(0);
#endif
}

/// Loads a block of each of lanes() columns and calls take(i, values) for i = 0..3: the i-th 32 bits of each.
template <typename Weight, typename Take>
HWY_INLINE void transpose_blocks(const Weight* const* weights, int input, const Take& take) {
  const F32 d;
  const hn::RebindToUnsigned<F32> bits;
  const hn::Repartition<uint64_t, F32> d64;
  const Vec r0 = load_every_fourth(weights, input);
  const Vec r1 = load_every_fourth(weights + 1, input);
  const Vec r2 = load_every_fourth(weights + 2, input);
  const Vec r3 = load_every_fourth(weights + 3, input);
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, r2, r3));
  take(0, hn::BitCast(bits, hn::InterleaveLower(d64, low01, low23)));
  take(1, hn::BitCast(bits, hn::InterleaveUpper(d64, low01, low23)));
  take(2, hn::BitCast(bits, hn::InterleaveLower(d64, high01, high23)));
  take(3, hn::BitCast(bits, hn::InterleaveUpper(d64, high01, high23)));
}

/// Widens a block of lanes() columns: strip[kBlockInputs][kTileColumns], one vector of each row.
HWY_INLINE void widen_block(const Bf16* const* weights, int input, float* strip) {
  const F32 d;
  const hn::RebindToUnsigned<F32> bits;
  transpose_blocks(weights, input, [&](int pair, auto both) {
    float* to = strip + static_cast<ptrdiff_t>(2 * pair) * kTileColumns;
    hn::Store(hn::BitCast(d, hn::ShiftLeft<16>(both)), d, to);
    hn::Store(hn::BitCast(d, hn::And(both, hn::Set(bits, 0xFFFF0000U))), d, to + kTileColumns);
  });
}

HWY_INLINE void widen_block(const float* const* weights, int input, float* strip) {
  const F32 d;
  transpose_blocks(weights, input, [&](int i, auto values) {
    hn::Store(hn::BitCast(d, values), d, strip + static_cast<ptrdiff_t>(i) * kTileColumns);
  });
}
#endif

/// strip[depth][kTileColumns] = inputs input .. input + depth of kTileColumns columns.
template <typename Weight>
D3_INNERMOST void widen_strip(const Weight* const* weights, int input, int depth, float* strip) {
  int i = 0;
#if HWY_TARGET != HWY_SCALAR
  const auto n = static_cast<ptrdiff_t>(lanes());
  for (; i + kBlockInputs<Weight> <= depth; i += kBlockInputs<Weight>)
    for (int v = 0; v < kTileVectors; ++v)
      widen_block(weights + v * n, input + i, strip + static_cast<ptrdiff_t>(i) * kTileColumns + v * n);
#endif
  for (; i < depth; ++i)
    for (int column = 0; column < kTileColumns; ++column)
      strip[static_cast<ptrdiff_t>(i) * kTileColumns + column] = to_float(weights[column][input + i]);
}

/// Words of `rows` rows of k inputs: slices of kDepth inputs, in each row by row.
constexpr size_t slice_words(int rows, int k) {
  return static_cast<size_t>((k + kDepth - 1) / kDepth * kDepth) * static_cast<size_t>(rows);
}

size_t widened_tile_words(int k) { return slice_words(kTileRows, k); }

/// See WidenedKernels.
void pack_widened_tile(const float* x, int rows, int k, uint32_t* tile) {
  for (int first = 0; first < k; first += kDepth) {
    const int inputs = std::min(kDepth, k - first);
    for (int row = 0; row < rows; ++row, tile += kDepth)
      std::memcpy(tile, x + static_cast<ptrdiff_t>(row) * k + first,
                  static_cast<size_t>(inputs) * sizeof(float));
  }
}

/// Where a tile's sums go: c[rows, columns] with `stride` floats a row; columns <= kTileColumns.
struct TileTarget {
  float* c = nullptr;
  ptrdiff_t stride = 0;
  size_t columns = 0;
  bool accumulate = false;
};

/// sum + *a * b, where `a` is read by the multiply-add itself: this saves the instruction that loads `a`,
/// which counts where a core issues few instructions a cycle beside its multiply-adds (as it seems to where
/// another machine shares it). Compilers do not choose it for a value with two uses. It loads twice where the
/// other way loads once, so only kMemoryRows of a tile's rows do it.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
HWY_INLINE Vec add_product(const float* a, Vec b, Vec sum) {
  auto raw = sum.raw;  // a copy of its own stays in a register
  asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(raw) : "v"(b.raw), "m"(*a));
  return Vec{raw};
}
#else
HWY_INLINE Vec add_product(const float* a, Vec b, Vec sum) { return hn::MulAdd(hn::Set(F32(), *a), b, sum); }
#endif

/// One input: sum0 and sum1 [kRows] += tile[kRows], kDepth apart, x strip[kTileColumns].
template <int kRows>
HWY_INLINE void multiply_input(const float* HWY_RESTRICT tile, const float* HWY_RESTRICT strip, Vec* sum0,
                               Vec* sum1) {
  const F32 d;
  const Vec b0 = hn::Load(d, strip);
  const Vec b1 = hn::Load(d, strip + lanes());
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    if (row < kMemoryRows) {
      sum0[row] = add_product(tile + row * kDepth, b0, sum0[row]);
      sum1[row] = add_product(tile + row * kDepth, b1, sum1[row]);
      continue;
    }
    const Vec a = hn::Set(d, tile[row * kDepth]);
    sum0[row] = hn::MulAdd(a, b0, sum0[row]);
    sum1[row] = hn::MulAdd(a, b1, sum1[row]);
  }
}

/// target (+)= tile[kRows][depth] x strip[depth][kTileColumns].
template <int kRows>
D3_INNERMOST void multiply_tile(const float* HWY_RESTRICT tile, const float* HWY_RESTRICT strip, int depth,
                                const TileTarget& target) {
  const F32 d;
  const size_t n = lanes();
  const size_t width0 = std::min(n, target.columns);
  const size_t width1 = target.columns - width0;
  Vec sum0[kRows];
  Vec sum1[kRows];
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    const float* c = target.c + row * target.stride;
    sum0[row] = target.accumulate ? load(c, width0) : hn::Zero(d);
    sum1[row] = target.accumulate ? load(c + width0, width1) : hn::Zero(d);
  }
  int i = 0;
  for (; i + 2 <= depth; i += 2) {
    multiply_input<kRows>(tile, strip, sum0, sum1);
    multiply_input<kRows>(tile + 1, strip + kTileColumns, sum0, sum1);
    strip += 2 * kTileColumns;
    tile += 2;
  }
  if (i < depth) multiply_input<kRows>(tile, strip, sum0, sum1);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    float* c = target.c + row * target.stride;
    store(sum0[row], width0, c);
    store(sum1[row], width1, c + width0);
  }
}

using MultiplyTile = void (*)(const float*, const float*, int, const TileTarget&);

template <int... kRows>
constexpr std::array<MultiplyTile, sizeof...(kRows)> tile_kernels(std::integer_sequence<int, kRows...>) {
  return {multiply_tile<kRows + 1>...};
}

/// multiply_tile for 1 .. kTileRows rows.
constexpr auto kMultiplyTile = tile_kernels(std::make_integer_sequence<int, kTileRows>());

/// Memory that is needed next, asked for in parts meanwhile.
class Ahead {
 public:
  Ahead(ptrdiff_t bytes, int parts) : bytes_(bytes), part_((bytes / kLine + parts) / parts * kLine) {}

  /// Asks for part `part` of what is at `from`.
  HWY_INLINE void ask(const void* from, int part) const {
    const auto* at = static_cast<const char*>(from);
    const ptrdiff_t end = std::min((part + 1) * part_, bytes_);
    for (ptrdiff_t i = part * part_; i < end; i += kLine) hwy::Prefetch(at + i);
  }

 private:
  static constexpr ptrdiff_t kLine = 64;
  ptrdiff_t bytes_;
  ptrdiff_t part_;
};

/// While a slice of tiles, rows of row_words each, is multiplied with a panel's strips: the slice after it.
/// Tiles are further apart than the CPU foresees, and many rows' are not in its caches.
HWY_INLINE Ahead next_slice(int row_words, int n, int strip_columns, bool last) {
  return {last ? 0 : static_cast<ptrdiff_t>(row_words * kTileRows) * 4,
          (n + strip_columns - 1) / strip_columns};
}

/// Asks for the cache lines of the part `part` of `parts` of a strip, so that widen_strip finds them.
template <typename Weight>
HWY_INLINE void prefetch_strip(const Weight* const* weights, int input, int depth, int part, int parts) {
  constexpr int kLine = 64 / sizeof(Weight);
  for (int column = part; column < kTileColumns; column += parts)
    for (int i = 0; i < depth; i += kLine) hwy::Prefetch(weights[column] + input + i);
}

/// The columns of one strip; those beyond the last repeat it and are never stored.
template <typename Weight>
struct StripColumns {
  const Weight* weights[kTileColumns];

  StripColumns(const Weight* const* columns, int count) {
    for (int i = 0; i < kTileColumns; ++i) weights[i] = columns[std::min(i, count - 1)];
  }
};

/// See WidenedKernels.
template <typename Weight>
void widened_product(const uint32_t* tiles, const TileRows& rows, const Weight* const* weights, int k, int n,
                     float* c) {
  HWY_ALIGN float strip[kDepth * kTileColumns];
  const auto* inputs = reinterpret_cast<const float*>(tiles);
  const size_t tile_size = widened_tile_words(k);
  for (int input = 0; input < k; input += kDepth) {
    const int depth = std::min(kDepth, k - input);
    const Ahead slice = next_slice(kDepth, n, kTileColumns, input + kDepth >= k);
    for (int column = 0; column < n; column += kTileColumns) {
      widen_strip(StripColumns<Weight>(weights + column, n - column).weights, input, depth, strip);
      const bool last = column + kTileColumns >= n;
      const int next_column = last ? 0 : column + kTileColumns;
      const int next_input = last ? input + kDepth : input;
      const StripColumns<Weight> next(weights + next_column, n - next_column);
      for (int tile = 0; tile < rows.tiles; ++tile) {
        if (next_input < k)
          prefetch_strip(next.weights, next_input, std::min(kDepth, k - next_input), tile, rows.tiles);
        const int row = rows.first(tile);
        const int height = rows.height(tile);
        const float* from =
            inputs + static_cast<size_t>(tile) * tile_size + static_cast<ptrdiff_t>(input) * height;
        slice.ask(from + height * kDepth, column / kTileColumns);
        kMultiplyTile[static_cast<size_t>(height - 1)](
            from, strip, depth,
            {.c = c + static_cast<ptrdiff_t>(row) * n + column,
             .stride = n,
             .columns = static_cast<size_t>(std::min(kTileColumns, n - column)),
             .accumulate = input > 0});
      }
    }
  }
}

/// Calls multiply(accumulate, c, stride), which writes whole rows of kColumns columns; where c has fewer,
/// they pass through rows of their own.
template <int kColumns, typename Multiply>
HWY_INLINE void multiply_into(const Multiply& multiply, int rows, int columns, bool accumulate, float* c,
                              ptrdiff_t stride) {
  if (HWY_LIKELY(columns == kColumns)) {
    multiply(accumulate, c, stride);
    return;
  }
  HWY_ALIGN float whole[kTileRows * kColumns];
  multiply(false, whole, kColumns);
  for (int row = 0; row < rows; ++row) {
    const float* from = whole + row * kColumns;
    if (accumulate)
      add_rows(from, columns, c + row * stride);
    else
      std::copy_n(from, columns, c + row * stride);
  }
}

/// Multiplies a strip of packed weights, columns `column` .. column + kColumns of c [rows, n], with every
/// tile: multiply(tile, height, accumulate, c, stride). `next`, the strip that comes after it, is asked for
/// meanwhile.
template <int kColumns, typename Multiply>
HWY_INLINE void multiply_strip(const Multiply& multiply, const TileRows& rows, const void* next,
                               int next_bytes, int column, int n, bool accumulate, float* c) {
  const Ahead ahead(next_bytes, rows.tiles);
  int first = 0;
  for (int tile = 0; tile < rows.tiles; ++tile) {
    ahead.ask(next, tile);
    const int end = rows.first(tile + 1);
    const int height = end - first;
    multiply_into<kColumns>(
        [&](bool add, float* to, ptrdiff_t stride) { multiply(tile, height, add, to, stride); }, height,
        std::min(kColumns, n - column), accumulate, c + static_cast<ptrdiff_t>(first) * n + column, n);
    first = end;
  }
}
