// cpu/kernels/rows-inl.h: norms, gates, rotary and conversions: kernels that walk one row of activations.

template <typename T>
void rms_norm(const float* x, const float* scale, int n, float eps, T* out) {
  const Vec factor = hn::Set(F32(), 1.0F / std::sqrt(sum_of_squares(x, n) / static_cast<float>(n) + eps));
  for_each_vector(n, [&](size_t i, size_t count) {
    store(hn::Mul(hn::Mul(load(x + i, count), factor), load(scale + i, count)), count, out + i);
  });
}

template <typename T>
void silu_mul(const float* gate, const float* up, int n, T* out) {
  for_each_vector(n, [&](size_t i, size_t count) {
    store(hn::Mul(silu(load(gate + i, count)), load(up + i, count)), count, out + i);
  });
}

template <typename T>
void store_row(const float* value, int n, T* out) {
  for_each_vector(n, [&](size_t i, size_t count) { store(load(value + i, count), count, out + i); });
}

template <typename T>
void store_sigmoid(const float* value, int n, T* out) {
  for_each_vector(n, [&](size_t i, size_t count) { store(sigmoid(load(value + i, count)), count, out + i); });
}

template <typename T>
void norm_rotary(const float* x, const float* scale, int n, float eps, const float* cos, const float* sin,
                 int half, float factor, T* out) {
  const Vec norm = hn::Set(F32(), factor / std::sqrt(sum_of_squares(x, n) / static_cast<float>(n) + eps));
  for_each_vector(half, [&](size_t i, size_t count) {
    const size_t j = i + static_cast<size_t>(half);
    const Vec first = hn::Mul(hn::Mul(load(x + i, count), norm), load(scale + i, count));
    const Vec second = hn::Mul(hn::Mul(load(x + j, count), norm), load(scale + j, count));
    const Vec c = load(cos + i, count);
    const Vec s = load(sin + i, count);
    store(hn::NegMulAdd(second, s, hn::Mul(first, c)), count, out + i);
    store(hn::MulAdd(first, s, hn::Mul(second, c)), count, out + j);
  });
  const size_t rest = 2 * static_cast<size_t>(half);
  for_each_vector(n - 2 * half, [&](size_t i, size_t count) {
    store(hn::Mul(hn::Mul(load(x + rest + i, count), norm), load(scale + rest + i, count)), count,
          out + rest + i);
  });
}

template <typename T>
void scale_gate(const float* x, float factor, const float* gate, int n, T* out) {
  const Vec scale = hn::Set(F32(), factor);
  for_each_vector(n, [&](size_t i, size_t count) {
    store(hn::Mul(hn::Mul(load(x + i, count), scale), load(gate + i, count)), count, out + i);
  });
}

/// The largest of `floor` and of(x) over n values.
template <typename T, typename Of>
HWY_INLINE float largest_of(const T* x, int n, float floor, const Of& of) {
  const F32 d;
  const size_t size = static_cast<size_t>(n);
  // Four chains: a maximum takes some cycles, of which the CPU can have several under way.
  Vec chains[4];
  for (Vec& chain : chains) chain = hn::Set(d, floor);
  size_t i = 0;
  for (; i + 4 * lanes() <= size; i += 4 * lanes())
#pragma GCC unroll 4
    for (size_t chain = 0; chain < 4; ++chain)
      chains[chain] = hn::Max(chains[chain], of(load(x + i + chain * lanes(), lanes())));
  for (; i + lanes() <= size; i += lanes()) chains[0] = hn::Max(chains[0], of(load(x + i, lanes())));
  for (; i < size; ++i) chains[1] = hn::Max(chains[1], of(hn::Set(d, to_float(x[i]))));
  return hn::GetLane(
      hn::MaxOfLanes(d, hn::Max(hn::Max(chains[0], chains[1]), hn::Max(chains[2], chains[3]))));
}

/// The largest |x| of n values.
template <typename T>
HWY_INLINE float largest_magnitude(const T* x, int n) {
  return largest_of(x, n, 0.0F, [](Vec values) HWY_ATTR { return hn::Abs(values); });
}

/// The largest of `floor` and n values.
HWY_INLINE float largest_value(const float* values, int n, float floor) {
  return largest_of(values, n, floor, [](Vec value) HWY_ATTR { return value; });
}

template <typename T>
float softmax_block(const float* scores, int valid, int n, float* running_max, float* running_sum, T* out) {
  const F32 d;
  const float new_max = largest_value(scores, valid, *running_max);
  const Vec shift = hn::Set(d, new_max);
  Vec sum = hn::Zero(d);
  for_each_vector(valid, [&](size_t i, size_t count) {
    Vec p = exp_negative(hn::Sub(load(scores + i, count), shift));
    if (count < lanes()) p = hn::IfThenElseZero(hn::FirstN(d, count), p);
    sum = hn::Add(sum, p);
    store(p, count, out + i);
  });
  for (int i = valid; i < n; ++i) out[i] = T{};
  // Before the first valid score the maximum is -infinity, and -inf - -inf is no number.
  const float factor = *running_max == new_max ? 1.0F : std::exp(*running_max - new_max);
  *running_sum = *running_sum * factor + sum_lanes(sum);
  *running_max = new_max;
  return factor;
}

template <typename T>
float quantize(const T* x, int n, uint8_t* out) {
  const F32 d;
  const hn::Rebind<int32_t, F32> di;
  const hn::Rebind<uint8_t, F32> d8;
  const float max = largest_magnitude(x, n);
  const Vec inverse = hn::Set(d, max > 0.0F ? 127.0F / max : 0.0F);
  for_each_vector(n, [&](size_t i, size_t count) {
    const auto q = hn::Add(hn::NearestInt(hn::Mul(load(x + i, count), inverse)), hn::Set(di, 128));
    if (count >= lanes()) {
      hn::StoreU(hn::DemoteTo(d8, q), d8, out + i);
      return;
    }
    HWY_ALIGN int32_t padded[HWY_MAX_BYTES / sizeof(int32_t)];
    hn::Store(q, di, padded);
    for (size_t j = 0; j < count; ++j) out[i + j] = static_cast<uint8_t>(padded[j]);
  });
  return max / 127.0F;
}

void add_rows(const float* y, int n, float* x) {
  for_each_vector(n, [&](size_t i, size_t count) {
    store(hn::Add(load(x + i, count), load(y + i, count)), count, x + i);
  });
}

void scale_row(float factor, int n, float* x) {
  const Vec scale = hn::Set(F32(), factor);
  for_each_vector(n,
                  [&](size_t i, size_t count) { store(hn::Mul(load(x + i, count), scale), count, x + i); });
}

void dequantize(int32_t* sums, const int32_t* offset, float row_scale, const float* column_scale, int n) {
  const F32 d;
  const hn::Rebind<int32_t, F32> di;
  auto* out = reinterpret_cast<float*>(sums);
  const Vec scale = hn::Set(d, row_scale);
  size_t i = 0;
  for (; i + lanes() <= static_cast<size_t>(n); i += lanes()) {
    const auto sum = hn::Sub(hn::LoadU(di, sums + i), hn::LoadU(di, offset + i));
    hn::StoreU(hn::Mul(hn::Mul(hn::ConvertTo(d, sum), scale), hn::LoadU(d, column_scale + i)), d, out + i);
  }
  for (; i < static_cast<size_t>(n); ++i) {
    const float value = static_cast<float>(sums[i] - offset[i]) * row_scale * column_scale[i];
    std::memcpy(out + i, &value, sizeof(value));
  }
}
