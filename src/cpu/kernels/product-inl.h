// cpu/kernels/product-inl.h: fp32 rows times bf16 weights, widened in cache: exact products of what is stored,
// at the rate of fp32 multiply-adds, for every target.
//
// The loops are Goto's (Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008): a
// strip of kTileColumns weights x kDepth inputs is widened into the L1 cache once and multiplied with every
// tile of kTileRows rows, whose sums stay in registers.

// Vectors of columns and rows of a tile: what the target's registers hold beside the operands.
constexpr int kTileVectors = 2;
constexpr int kTileRows = HWY_MAX_BYTES >= 64 ? 12 : 6;
constexpr int kTileColumns = kTileVectors * HWY_MAX_BYTES / static_cast<int>(sizeof(float));
// Inputs a strip is widened for: with 32 columns 32 KiB, which an L1 cache holds beside a tile's rows.
constexpr int kDepth = 256;

/// [k, n] weights as strips [n / kTileColumns][k][kTileColumns]; columns beyond n are zero.
/// rows: [n, k], as checkpoints store them.
void pack_strips(const Bf16* rows, int n, int k, Bf16* strips) {
  constexpr int kBlock = 16;  // inputs written at once, so that each row's cache line is read once
  for (int first = 0; first < n; first += kTileColumns) {
    for (int input = 0; input < k; input += kBlock) {
      const int inputs = std::min(kBlock, k - input);
      for (int column = 0; column < kTileColumns; ++column) {
        const bool there = first + column < n;
        const Bf16* row = rows + static_cast<ptrdiff_t>(first + column) * k + input;
        Bf16* out = strips + static_cast<ptrdiff_t>(input) * kTileColumns + column;
        for (int i = 0; i < inputs; ++i) out[i * kTileColumns] = there ? row[i] : Bf16{};
      }
    }
    strips += static_cast<ptrdiff_t>(k) * kTileColumns;
  }
}

/// One tile: up to kTileRows rows of x [rows, k] as [k][kTileRows].
void pack_tile(const float* x, int rows, int k, float* tile) {
  constexpr int kBlock = 16;  // inputs of every row written together, so that the tile's lines stay in L1
  for (int first = 0; first < k; first += kBlock) {
    const int inputs = std::min(kBlock, k - first);
    for (int row = 0; row < rows; ++row) {
      const float* from = x + static_cast<ptrdiff_t>(row) * k + first;
      for (int i = 0; i < inputs; ++i) tile[static_cast<ptrdiff_t>(first + i) * kTileRows + row] = from[i];
    }
  }
}

void pack_tiles(const float* x, int rows, int k, float* tiles) {
  for (int first = 0; first < rows; first += kTileRows)
    pack_tile(x + static_cast<ptrdiff_t>(first) * k, std::min(kTileRows, rows - first), k,
              tiles + static_cast<ptrdiff_t>(first) * k);
}

/// Where a tile's sums go: c[rows, columns] with `stride` floats a row; columns <= kTileColumns.
struct TileTarget {
  float* c = nullptr;
  ptrdiff_t stride = 0;
  size_t columns = 0;
  bool accumulate = false;
};

/// target (+)= tile[depth][kTileRows] x strip[depth][kTileColumns], the first kRows rows.
template <int kRows>
void multiply_tile(const float* HWY_RESTRICT tile, const float* HWY_RESTRICT strip, int depth,
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
  for (int i = 0; i < depth; ++i) {
    const Vec b0 = hn::Load(d, strip);
    const Vec b1 = hn::Load(d, strip + n);
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) {
      const Vec a = hn::Set(d, tile[row]);
      sum0[row] = hn::MulAdd(a, b0, sum0[row]);
      sum1[row] = hn::MulAdd(a, b1, sum1[row]);
    }
    strip += kTileColumns;
    tile += kTileRows;
  }
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

/// c [rows, n] = x · W, x packed by pack_tiles, W by pack_strips; see WidenedKernels.
void widened_product(const float* tiles, int rows, const Bf16* strips, int k, int n, float* c) {
  HWY_ALIGN float strip[kDepth * kTileColumns];
  for (int input = 0; input < k; input += kDepth) {
    const int depth = std::min(kDepth, k - input);
    for (int column = 0; column < n; column += kTileColumns) {
      const Bf16* from = strips + static_cast<ptrdiff_t>(column) * k + input * kTileColumns;
      for (int i = 0; i < depth * kTileColumns; i += static_cast<int>(lanes()))
        hn::Store(load(from + i, lanes()), F32(), strip + i);
      for (int row = 0; row < rows; row += kTileRows) {
        const int tile_rows = std::min(kTileRows, rows - row);
        kMultiplyTile[static_cast<size_t>(tile_rows - 1)](
            tiles + static_cast<ptrdiff_t>(row) * k + input * kTileRows, strip, depth,
            {.c = c + static_cast<ptrdiff_t>(row) * n + column,
             .stride = n,
             .columns = static_cast<size_t>(std::min(kTileColumns, n - column)),
             .accumulate = input > 0});
      }
    }
  }
}
