// cpu/kernels/vectors-inl.h: loads, stores and small functions the kernels share. Included once per SIMD
// target by kernels.cc, inside that target's namespace; no include guard on purpose.

using F32 = hn::ScalableTag<float>;
using Vec = hn::Vec<F32>;

HWY_INLINE size_t lanes() { return hn::Lanes(F32()); }

/// Loads min(count, lanes) values; the rest are zero.
HWY_INLINE Vec load(const float* from, size_t count) {
  const F32 d;
  if (HWY_LIKELY(count >= lanes())) return hn::LoadU(d, from);
  HWY_ALIGN float padded[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t i = 0; i < count; ++i) padded[i] = from[i];
  return hn::Load(d, padded);
}

HWY_INLINE Vec load(const Bf16* from, size_t count) {
  const F32 d;
  const hn::Rebind<uint16_t, F32> d16;
  const hn::Rebind<uint32_t, F32> d32;
  const auto* bits = reinterpret_cast<const uint16_t*>(from);
  if (HWY_LIKELY(count >= lanes()))
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, bits))));
  HWY_ALIGN float padded[HWY_MAX_BYTES / sizeof(float)] = {};
  for (size_t i = 0; i < count; ++i) padded[i] = to_float(from[i]);
  return hn::Load(d, padded);
}

/// Stores min(count, lanes) values.
HWY_INLINE void store(Vec value, size_t count, float* to) {
  const F32 d;
  if (HWY_LIKELY(count >= lanes())) {
    hn::StoreU(value, d, to);
    return;
  }
  HWY_ALIGN float padded[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, d, padded);
  for (size_t i = 0; i < count; ++i) to[i] = padded[i];
}

HWY_INLINE void store(Vec value, size_t count, Bf16* to) {
  const hn::Rebind<uint16_t, F32> d16;
  const hn::Rebind<uint32_t, F32> d32;
  if (HWY_LIKELY(count >= lanes())) {
    // Round to nearest even. Activations are finite: a NaN's payload needs no care here.
    const auto bits = hn::BitCast(d32, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d32, 0x7FFF))));
    hn::StoreU(hn::TruncateTo(d16, rounded), d16, reinterpret_cast<uint16_t*>(to));
    return;
  }
  HWY_ALIGN float padded[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, F32(), padded);
  for (size_t i = 0; i < count; ++i) to[i] = to_bf16(padded[i]);
}

/// Calls body(first, count) for every vector of n values; only the last count may be below lanes().
template <typename Body>
HWY_INLINE void for_each_vector(int n, const Body& body) {
  const size_t size = static_cast<size_t>(n);
  for (size_t i = 0; i < size; i += lanes()) body(i, size - i);
}

/// exp(x) for x in [-87, 88] as 2^n exp(r): an integer power and a polynomial on [-ln 2 / 2, ln 2 / 2]
/// (Cephes' expf coefficients); relative error below 3e-7.
HWY_INLINE Vec exp_in_range(Vec x) {
  const F32 d;
  const hn::RebindToUnsigned<F32> du;
  // Adding this rounds x log2 e to the integer n, which is then in the sum's lowest bits.
  const Vec magic = hn::Set(d, 12582912.0F);
  const Vec shifted = hn::MulAdd(x, hn::Set(d, 1.44269504088896341F), magic);
  const Vec n = hn::Sub(shifted, magic);
  Vec r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  Vec p = hn::Set(d, 1.9875691500e-4F);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3F));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2F));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1F));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1F));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0F)));
  // Adds n to the polynomial's exponent: in this range the result has one of its own, too.
  return hn::BitCast(d, hn::Add(hn::BitCast(du, p), hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
}

HWY_INLINE Vec clamp_for_exp(Vec x) {
  return hn::Max(hn::Min(x, hn::Set(F32(), 88.0F)), hn::Set(F32(), -87.0F));
}

/// exp(x) for x <= 88 (larger values give exp(88)), and 0 below -87.
HWY_INLINE Vec exp_bounded(Vec x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(F32(), -87.0F)), exp_in_range(clamp_for_exp(x)));
}

/// exp(x) for x <= 0; below -87 exp(-87), which beside a 1 is nothing.
HWY_INLINE Vec exp_negative(Vec x) { return exp_in_range(hn::Max(x, hn::Set(F32(), -87.0F))); }

/// 1 + exp(-x), the denominator of the sigmoid.
HWY_INLINE Vec one_plus_exp_of_minus(Vec x) {
  return hn::Add(hn::Set(F32(), 1.0F), exp_in_range(clamp_for_exp(hn::Neg(x))));
}

HWY_INLINE Vec sigmoid(Vec x) { return hn::Div(hn::Set(F32(), 1.0F), one_plus_exp_of_minus(x)); }

HWY_INLINE Vec silu(Vec x) { return hn::Div(x, one_plus_exp_of_minus(x)); }

HWY_INLINE float sum_lanes(Vec x) { return hn::GetLane(hn::SumOfLanes(F32(), x)); }

/// Sum of x[i]² over n values.
template <typename T>
HWY_INLINE float sum_of_squares(const T* x, int n) {
  Vec even = hn::Zero(F32());
  Vec odd = hn::Zero(F32());
  size_t i = 0;
  const size_t size = static_cast<size_t>(n);
  for (; i + 2 * lanes() <= size; i += 2 * lanes()) {
    const Vec a = load(x + i, lanes());
    const Vec b = load(x + i + lanes(), lanes());
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  for (; i < size; i += lanes()) {
    const Vec a = load(x + i, size - i);
    even = hn::MulAdd(a, a, even);
  }
  return sum_lanes(hn::Add(even, odd));
}
