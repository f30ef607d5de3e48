// cpu/kernels/delta_net-inl.h: the parts of a Gated DeltaNet head: convolution, gates, delta rule, output
// norm.

// Rows are far apart in memory, so that the CPU does not foresee them: each is asked for so many before its
// turn.
constexpr int kConvRowsAhead = 6;

template <typename T>
void conv_silu(const T* const* rows, int tokens, const float* weight, float* out) {
  constexpr int kDim = kDeltaHeadDim;
  constexpr int kLine = 64 / static_cast<int>(sizeof(T));
  static constexpr T kNothing[kDim] = {};
  const auto tap = [&](int t) { return rows[t] ? rows[t] : kNothing; };
  for (int t = 0; t < tokens; ++t, out += kDim) {
    if (t + kConvRowsAhead < tokens)
      for (int c = 0; c < kDim; c += kLine) hwy::Prefetch(rows[t + kConvRowsAhead] + c);
    const T* const taps[4] = {tap(t - 3), tap(t - 2), tap(t - 1), rows[t]};
    for_each_vector(kDim, [&](size_t c, size_t count) HWY_ATTR {
      Vec y = hn::Mul(load(taps[0] + c, count), hn::LoadU(F32(), weight + c));
      for (int i = 1; i < 4; ++i)
        y = hn::MulAdd(load(taps[i] + c, count), hn::LoadU(F32(), weight + i * kDim + c), y);
      hn::StoreU(silu(y), F32(), out + c);
    });
  }
}

template <typename T>
void gated_rms_norm(const float* x, const float* weight, float eps, const float* z, T* out) {
  const Vec factor = hn::Set(F32(), 1.0F / std::sqrt(sum_of_squares(x, kDeltaHeadDim) / kDeltaHeadDim + eps));
  for_each_vector(kDeltaHeadDim, [&](size_t i, size_t count) {
    const Vec normed = hn::Mul(hn::Mul(load(x + i, count), factor), load(weight + i, count));
    store(hn::Mul(normed, silu(load(z + i, count))), count, out + i);
  });
}

void l2_normalize(float* x, int rows, float factor) {
  for (int row = 0; row < rows; ++row, x += kDeltaHeadDim)
    scale_row(factor / std::sqrt(sum_of_squares(x, kDeltaHeadDim) + 1e-6F), kDeltaHeadDim, x);
}

void delta_gates(const float* a, const float* b, float exp_a_log, float dt_bias, int tokens, float* decay,
                 float* beta) {
  const F32 d;
  for_each_vector(tokens, [&](size_t i, size_t count) {
    const Vec x = hn::Add(load(a + i, count), hn::Set(d, dt_bias));
    // softplus(x) = x above 20, as PyTorch has it: there log1p(exp(x)) is x in fp32.
    const Vec softplus = hn::IfThenElse(hn::Gt(x, hn::Set(d, 20.0F)), x, hn::Log1p(d, exp_bounded(x)));
    store(exp_bounded(hn::Mul(hn::Set(d, -exp_a_log), softplus)), count, decay + i);
    store(sigmoid(load(b + i, count)), count, beta + i);
  });
}

/// What one chunk of C tokens needs besides the state: all decays are products within the chunk, never
/// quotients, so a decay of zero does no harm.
template <int C>
struct ChunkTerms {
  float from_start[C];    // decay from the chunk's start to after token i
  float to_end[C];        // decay from after token i to the chunk's end
  float key_key[C][C];    // [i][j], j < i: decay from j to i times k_j . k_i
  float query_key[C][C];  // [i][j], j <= i: decay from j to i times q_i . k_j
};

HWY_INLINE float dot128(const float* x, const float* y) {
  Vec sum = hn::Zero(F32());
  for (size_t i = 0; i < kDeltaHeadDim; i += lanes())
    sum = hn::MulAdd(hn::LoadU(F32(), x + i), hn::LoadU(F32(), y + i), sum);
  return sum_lanes(sum);
}

template <int C>
void chunk_terms(const DeltaRuleInput& in, int first, ChunkTerms<C>& terms) {
  for (int i = 0; i < C; ++i) {
    const float* key = in.key + static_cast<ptrdiff_t>(first + i) * kDeltaHeadDim;
    const float* query = in.query + static_cast<ptrdiff_t>(first + i) * kDeltaHeadDim;
    terms.from_start[i] = in.decay[first + i] * (i > 0 ? terms.from_start[i - 1] : 1.0F);
    float decay = 1.0F;
    for (int j = i; j >= 0; --j) {
      const float* other = in.key + static_cast<ptrdiff_t>(first + j) * kDeltaHeadDim;
      terms.query_key[i][j] = decay * dot128(query, other);
      if (j < i) terms.key_key[i][j] = decay * dot128(key, other);
      decay *= in.decay[first + j];
    }
  }
  float decay = 1.0F;
  for (int i = C - 1; i >= 0; --i) {
    terms.to_end[i] = decay;
    decay *= in.decay[first + i];
  }
}

/// A chunk's keys, its queries and its keys times to_end, each [128][C]: a pass over the state reads one
/// short run of them per row of it.
template <int C>
struct ChunkRows {
  HWY_ALIGN float key[kDeltaHeadDim][C];
  HWY_ALIGN float query[kDeltaHeadDim][C];
  HWY_ALIGN float late_key[kDeltaHeadDim][C];
};

/// out[128][C] = rows[C][128] transposed, row i times factors[i].
template <int C>
HWY_INLINE void transpose_rows(const float* rows, const float* factors, float* out) {
  static_assert(C == 1 || C == 4);
  const F32 d;
  for (size_t at = 0; at < kDeltaHeadDim; at += lanes()) {
    const auto row = [&](int i) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, rows + static_cast<ptrdiff_t>(i) * kDeltaHeadDim + at),
                     hn::Set(d, factors[i]));
    };
    if constexpr (C == 4)
      hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, out + at * C);
    else
      hn::StoreU(row(0), d, out + at);
  }
}

template <int C>
void transpose_chunk(const DeltaRuleInput& in, int first, const ChunkTerms<C>& terms, ChunkRows<C>& chunk) {
  constexpr float kOnes[] = {1.0F, 1.0F, 1.0F, 1.0F};
  const ptrdiff_t at = static_cast<ptrdiff_t>(first) * kDeltaHeadDim;
  transpose_rows<C>(in.key + at, kOnes, *chunk.key);
  transpose_rows<C>(in.query + at, kOnes, *chunk.query);
  transpose_rows<C>(in.key + at, terms.to_end, *chunk.late_key);
}

// Two vectors of value columns share each broadcast where there are 32 registers.
constexpr int kColumnVectors = HWY_TARGET <= HWY_AVX3 ? 2 : 1;

/// A chunk's tokens x a block of value columns. Loops over it are unrolled by name: where a compiler leaves
/// one of them rolled, the whole array stays in memory and is stored for every row of the state.
template <int C>
struct ChunkColumns {
  Vec at[C][kColumnVectors];
};

/// One block of value columns of the state: [128 key][kColumnVectors * lanes()].
constexpr size_t state_row() { return kColumnVectors * static_cast<size_t>(HWY_LANES(float)); }

/// along_key[i] = stateᵀ k_i and along_query[i] = stateᵀ q_i: the one pass that reads the state.
template <int C>
HWY_INLINE void read_state(const float* state, const ChunkRows<C>& chunk, ChunkColumns<C>& along_key,
                           ChunkColumns<C>& along_query) {
  const F32 d;
#pragma GCC unroll 16
  for (int i = 0; i < C; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kColumnVectors; ++v) along_key.at[i][v] = along_query.at[i][v] = hn::Zero(d);
  for (size_t row = 0; row < kDeltaHeadDim; ++row, state += state_row()) {
#pragma GCC unroll 16
    for (int i = 0; i < C; ++i) {
      const Vec key = hn::Set(d, chunk.key[row][i]);
      const Vec query = hn::Set(d, chunk.query[row][i]);
#pragma GCC unroll 16
      for (int v = 0; v < kColumnVectors; ++v) {
        const Vec s = hn::LoadU(d, state + static_cast<size_t>(v) * lanes());
        along_key.at[i][v] = hn::MulAdd(s, key, along_key.at[i][v]);
        along_query.at[i][v] = hn::MulAdd(s, query, along_query.at[i][v]);
      }
    }
  }
}

/// Solves for the updates d_i and writes the outputs; `column`: of the block's first value.
template <int C>
HWY_INLINE void solve_chunk(const DeltaRuleInput& in, int first, const ChunkTerms<C>& terms, size_t column,
                            const ChunkColumns<C>& along_key, const ChunkColumns<C>& along_query,
                            ChunkColumns<C>& update, float* out) {
  const F32 d;
#pragma GCC unroll 16
  for (int i = 0; i < C; ++i) {
    const size_t at = static_cast<size_t>(first + i) * kDeltaHeadDim + column;
    const Vec start = hn::Set(d, terms.from_start[i]);
    const Vec beta = hn::Set(d, in.beta[first + i]);
#pragma GCC unroll 16
    for (int v = 0; v < kColumnVectors; ++v) {
      const size_t vector = at + static_cast<size_t>(v) * lanes();
      Vec expected = hn::Mul(start, along_key.at[i][v]);
#pragma GCC unroll 16
      for (int j = 0; j < i; ++j)
        expected = hn::MulAdd(hn::Set(d, terms.key_key[i][j]), update.at[j][v], expected);
      update.at[i][v] = hn::Mul(beta, hn::Sub(hn::LoadU(d, in.value + vector), expected));
      Vec o = hn::Mul(start, along_query.at[i][v]);
#pragma GCC unroll 16
      for (int j = 0; j <= i; ++j) o = hn::MulAdd(hn::Set(d, terms.query_key[i][j]), update.at[j][v], o);
      hn::StoreU(o, d, out + vector);
    }
  }
}

/// state = state * decay + the chunk's keys, decayed to its end, times their updates.
template <int C>
HWY_INLINE void update_state(float decay, const ChunkRows<C>& chunk, const ChunkColumns<C>& update,
                             float* state) {
  const F32 d;
  const Vec whole = hn::Set(d, decay);
  for (size_t row = 0; row < kDeltaHeadDim; ++row, state += state_row()) {
#pragma GCC unroll 16
    for (int v = 0; v < kColumnVectors; ++v) {
      float* cell = state + static_cast<size_t>(v) * lanes();
      Vec s = hn::Mul(whole, hn::LoadU(d, cell));
#pragma GCC unroll 16
      for (int i = 0; i < C; ++i) s = hn::MulAdd(hn::Set(d, chunk.late_key[row][i]), update.at[i][v], s);
      hn::StoreU(s, d, cell);
    }
  }
}

/// One chunk for one block of value columns.
template <int C>
void delta_chunk(const DeltaRuleInput& in, int first, const ChunkTerms<C>& terms, const ChunkRows<C>& chunk,
                 size_t column, float* state, float* out) {
  ChunkColumns<C> along_key;
  ChunkColumns<C> along_query;
  ChunkColumns<C> update;
  read_state<C>(state, chunk, along_key, along_query);
  solve_chunk<C>(in, first, terms, column, along_key, along_query, update, out);
  update_state<C>(terms.from_start[C - 1], chunk, update, state);
}

template <int C>
void delta_chunks(const DeltaRuleInput& in, int first, float* state, float* out) {
  ChunkTerms<C> terms;
  ChunkRows<C> chunk;
  chunk_terms<C>(in, first, terms);
  transpose_chunk<C>(in, first, terms, chunk);
  for (size_t column = 0; column < kDeltaHeadDim; column += state_row())
    delta_chunk<C>(in, first, terms, chunk, column, state + column * kDeltaHeadDim, out);
}

void delta_rule(const DeltaRuleInput& input, float* state, float* out) {
  int first = 0;
  for (; first + kDeltaChunk <= input.tokens; first += kDeltaChunk)
    delta_chunks<kDeltaChunk>(input, first, state, out);
  for (; first < input.tokens; ++first) delta_chunks<1>(input, first, state, out);
}
