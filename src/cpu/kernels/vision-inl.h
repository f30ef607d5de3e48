// cpu/kernels/vision-inl.h: what the vision tower needs beside the text model's kernels: LayerNorm, biases,
// GELU and position embeddings.

template <typename T>
void layer_norm(const float* x, const float* weight, const float* bias, int n, float eps, T* out) {
  const F32 d;
  Vec sum = hn::Zero(d);
  for_each_vector(n, [&](size_t i, size_t count) { sum = hn::Add(sum, load(x + i, count)); });
  const Vec mean = hn::Set(d, sum_lanes(sum) / static_cast<float>(n));
  // The sum of squared deviations, not of squares: nothing cancels.
  Vec squares = hn::Zero(d);
  for_each_vector(n, [&](size_t i, size_t count) {
    Vec deviation = hn::Sub(load(x + i, count), mean);
    if (count < lanes()) deviation = hn::IfThenElseZero(hn::FirstN(d, count), deviation);
    squares = hn::MulAdd(deviation, deviation, squares);
  });
  const Vec factor = hn::Set(d, 1.0F / std::sqrt(sum_lanes(squares) / static_cast<float>(n) + eps));
  for_each_vector(n, [&](size_t i, size_t count) {
    const Vec normed = hn::Mul(hn::Sub(load(x + i, count), mean), factor);
    store(hn::MulAdd(normed, load(weight + i, count), load(bias + i, count)), count, out + i);
  });
}

template <typename T>
void store_bias(const float* x, const float* bias, int n, T* out) {
  for_each_vector(n, [&](size_t i, size_t count) {
    store(hn::Add(load(x + i, count), load(bias + i, count)), count, out + i);
  });
}

template <typename T>
void bias_rotary(const float* x, const float* bias, int n, const float* cos, const float* sin, float factor,
                 T* out) {
  const int half = n / 2;
  const Vec scale = hn::Set(F32(), factor);
  for_each_vector(half, [&](size_t i, size_t count) {
    const size_t j = i + static_cast<size_t>(half);
    const Vec first = hn::Mul(hn::Add(load(x + i, count), load(bias + i, count)), scale);
    const Vec second = hn::Mul(hn::Add(load(x + j, count), load(bias + j, count)), scale);
    const Vec c = load(cos + i, count);
    const Vec s = load(sin + i, count);
    store(hn::NegMulAdd(second, s, hn::Mul(first, c)), count, out + i);
    store(hn::MulAdd(first, s, hn::Mul(second, c)), count, out + j);
  });
}

template <typename T>
void bias_gelu_tanh(const float* x, const float* bias, int n, T* out) {
  const F32 d;
  for_each_vector(n, [&](size_t i, size_t count) {
    const Vec y = hn::Add(load(x + i, count), load(bias + i, count));
    // 0.5 (1 + tanh(u)) is sigmoid(2 u).
    const Vec cubic = hn::MulAdd(hn::Mul(y, y), hn::Set(d, 0.044715F), hn::Set(d, 1.0F));
    const Vec twice_u = hn::Mul(hn::Mul(y, hn::Set(d, 1.5957691216057308F)), cubic);
    store(hn::Mul(y, sigmoid(twice_u)), count, out + i);
  });
}

/// erf(x) for x >= 0, absolute error below 1.5e-7 (Abramowitz & Stegun, 7.1.26).
HWY_INLINE Vec erf_positive(Vec x) {
  const F32 d;
  const Vec one = hn::Set(d, 1.0F);
  const Vec t = hn::Div(one, hn::MulAdd(x, hn::Set(d, 0.3275911F), one));
  Vec p = hn::Set(d, 1.061405429F);
  p = hn::MulAdd(p, t, hn::Set(d, -1.453152027F));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741F));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736F));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592F));
  return hn::NegMulAdd(hn::Mul(p, t), exp_bounded(hn::Neg(hn::Mul(x, x))), one);
}

template <typename T>
void bias_gelu(const float* x, const float* bias, int n, T* out) {
  const F32 d;
  const Vec half = hn::Set(d, 0.5F);
  for_each_vector(n, [&](size_t i, size_t count) {
    const Vec y = hn::Add(load(x + i, count), load(bias + i, count));
    const Vec erf = hn::CopySign(erf_positive(hn::Mul(hn::Abs(y), hn::Set(d, 0.70710678118654752F))), y);
    store(hn::Mul(y, hn::MulAdd(half, erf, half)), count, out + i);
  });
}

void add_bias(const float* y, const float* bias, int n, float* x) {
  for_each_vector(n, [&](size_t i, size_t count) {
    store(hn::Add(load(x + i, count), hn::Add(load(y + i, count), load(bias + i, count))), count, x + i);
  });
}

void add_weighted(const float* const rows[4], const float weights[4], int n, float* x) {
  const F32 d;
  for_each_vector(n, [&](size_t i, size_t count) {
    Vec sum = hn::Mul(hn::Set(d, weights[0]), load(rows[0] + i, count));
    for (int j = 1; j < 4; ++j) sum = hn::MulAdd(hn::Set(d, weights[j]), load(rows[j] + i, count), sum);
    store(hn::Add(load(x + i, count), sum), count, x + i);
  });
}
