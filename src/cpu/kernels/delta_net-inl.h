// cpu/kernels/delta_net-inl.h: the parts of a Gated DeltaNet head: convolution, gates, delta rule, output
// norm.

template <typename T>
void conv_silu(const T* const* rows, int tokens, const float* weight, float* out) {
  constexpr size_t kDim = kDeltaHeadDim;
  for (size_t c = 0; c < kDim; c += lanes()) {
    const auto tap = [&](int t) { return rows[t] ? load(rows[t] + c, lanes()) : hn::Zero(F32()); };
    const Vec w0 = hn::LoadU(F32(), weight + c);
    const Vec w1 = hn::LoadU(F32(), weight + kDim + c);
    const Vec w2 = hn::LoadU(F32(), weight + 2 * kDim + c);
    const Vec w3 = hn::LoadU(F32(), weight + 3 * kDim + c);
    Vec x0 = tap(-3);
    Vec x1 = tap(-2);
    Vec x2 = tap(-1);
    for (int t = 0; t < tokens; ++t) {
      const Vec x3 = load(rows[t] + c, lanes());
      const Vec y = hn::MulAdd(x3, w3, hn::MulAdd(x2, w2, hn::MulAdd(x1, w1, hn::Mul(x0, w0))));
      hn::StoreU(silu(y), F32(), out + static_cast<size_t>(t) * kDim + c);
      x0 = x1;
      x1 = x2;
      x2 = x3;
    }
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

/// [128][3 * C]: for every key dimension the chunk's keys, its queries and its keys times to_end, side by
/// side, so that the pass over the state reads one short run per row of it.
template <int C>
void interleave(const DeltaRuleInput& in, int first, const ChunkTerms<C>& terms, float* packed) {
  for (int i = 0; i < C; ++i) {
    const float* key = in.key + static_cast<ptrdiff_t>(first + i) * kDeltaHeadDim;
    const float* query = in.query + static_cast<ptrdiff_t>(first + i) * kDeltaHeadDim;
    for (int row = 0; row < kDeltaHeadDim; ++row) {
      float* to = packed + static_cast<ptrdiff_t>(row) * 3 * C;
      to[i] = key[row];
      to[C + i] = query[row];
      to[2 * C + i] = key[row] * terms.to_end[i];
    }
  }
}

// Two vectors of value columns share each broadcast where there are 32 registers.
constexpr int kColumnVectors = HWY_TARGET <= HWY_AVX3 ? 2 : 1;

/// One chunk for one block of value columns: reads the state once for all keys and queries, solves for the
/// updates d, writes the outputs and the new state.
template <int C>
void delta_chunk(const DeltaRuleInput& in, int first, const ChunkTerms<C>& terms, const float* packed,
                 size_t column, float* state, float* out) {
  const F32 d;
  constexpr int V = kColumnVectors;
  const size_t width = V * lanes();
  Vec along_key[C][V];
  Vec along_query[C][V];
  for (int i = 0; i < C; ++i)
    for (int v = 0; v < V; ++v) along_key[i][v] = along_query[i][v] = hn::Zero(d);
  for (size_t row = 0; row < kDeltaHeadDim; ++row) {
    const float* terms_of_row = packed + row * 3 * C;
    Vec s[V];
    for (int v = 0; v < V; ++v) s[v] = hn::LoadU(d, state + row * width + v * lanes());
    for (int i = 0; i < C; ++i) {
      const Vec key = hn::Set(d, terms_of_row[i]);
      const Vec query = hn::Set(d, terms_of_row[C + i]);
      for (int v = 0; v < V; ++v) {
        along_key[i][v] = hn::MulAdd(s[v], key, along_key[i][v]);
        along_query[i][v] = hn::MulAdd(s[v], query, along_query[i][v]);
      }
    }
  }
  Vec update[C][V];
  for (int i = 0; i < C; ++i) {
    const size_t at = static_cast<size_t>(first + i) * kDeltaHeadDim + column;
    const Vec start = hn::Set(d, terms.from_start[i]);
    const Vec beta = hn::Set(d, in.beta[first + i]);
    for (int v = 0; v < V; ++v) {
      Vec expected = hn::Mul(start, along_key[i][v]);
      for (int j = 0; j < i; ++j)
        expected = hn::MulAdd(hn::Set(d, terms.key_key[i][j]), update[j][v], expected);
      update[i][v] = hn::Mul(beta, hn::Sub(hn::LoadU(d, in.value + at + v * lanes()), expected));
      Vec o = hn::Mul(start, along_query[i][v]);
      for (int j = 0; j <= i; ++j) o = hn::MulAdd(hn::Set(d, terms.query_key[i][j]), update[j][v], o);
      hn::StoreU(o, d, out + at + v * lanes());
    }
  }
  const Vec whole = hn::Set(d, terms.from_start[C - 1]);
  for (size_t row = 0; row < kDeltaHeadDim; ++row) {
    const float* keys = packed + row * 3 * C + 2 * C;
    for (int v = 0; v < V; ++v) {
      float* cell = state + row * width + v * lanes();
      Vec s = hn::Mul(whole, hn::LoadU(d, cell));
      for (int i = 0; i < C; ++i) s = hn::MulAdd(hn::Set(d, keys[i]), update[i][v], s);
      hn::StoreU(s, d, cell);
    }
  }
}

template <int C>
void delta_chunks(const DeltaRuleInput& in, int first, float* state, float* scratch, float* out) {
  ChunkTerms<C> terms;
  chunk_terms<C>(in, first, terms);
  interleave<C>(in, first, terms, scratch);
  const size_t width = kColumnVectors * lanes();
  for (size_t column = 0; column < kDeltaHeadDim; column += width)
    delta_chunk<C>(in, first, terms, scratch, column, state + column * kDeltaHeadDim, out);
}

void delta_rule(const DeltaRuleInput& input, float* state, float* scratch, float* out) {
  int first = 0;
  for (; first + kDeltaChunk <= input.tokens; first += kDeltaChunk)
    delta_chunks<kDeltaChunk>(input, first, state, scratch, out);
  for (; first < input.tokens; ++first) delta_chunks<1>(input, first, state, scratch, out);
}
