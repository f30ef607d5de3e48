// The vision tower's kernels on every SIMD target this CPU has, against plain double arithmetic.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/kernels/kernel_table.h"
#include "cpu/random_values.h"

namespace d3::cpu {
namespace {

using test::RandomValues;
using test::rounding;

// Sizes below, at and between vector lengths.
constexpr int kSizes[] = {1, 3, 7, 8, 15, 16, 17, 31, 64, 100, 255, 256};

class VisionKernelsTest : public ::testing::TestWithParam<const KernelTable*> {
 protected:
  /// Runs body<T>(kernels of T) for both activation types.
  template <typename Body>
  void for_both_types(const Body& body) {
    body(GetParam()->f32, float{});
    body(GetParam()->bf16, Bf16{});
  }
};

TEST_P(VisionKernelsTest, LayerNorm) {
  RandomValues random(1);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    for (const int n : kSizes) {
      auto x = random.normals(static_cast<size_t>(n), 3.0F);
      for (float& value : x) value += 50.0F;  // a mean far larger than the deviation
      const auto weight = random.normals(static_cast<size_t>(n));
      const auto bias = random.normals(static_cast<size_t>(n));
      std::vector<T> out(static_cast<size_t>(n));
      kernels.layer_norm(x.data(), weight.data(), bias.data(), n, 1e-6F, out.data());
      double mean = 0;
      for (const float value : x) mean += double{value} / n;
      double variance = 0;
      for (const float value : x) variance += (value - mean) * (value - mean) / n;
      const double factor = 1.0 / std::sqrt(variance + 1e-6);
      for (size_t i = 0; i < out.size(); ++i) {
        const double normed = (x[i] - mean) * factor * weight[i];
        const double expected = normed + bias[i];
        // A sum of n values over four lanes or more rounds that often, at the size of the mean.
        const double rounds = n / 4.0 + 4;
        const double mean_error =
            n == 1 ? 0.01 : rounds * 6e-8 * std::abs(mean) * factor * std::abs(weight[i]);
        EXPECT_NEAR(to_float(out[i]), expected,
                    mean_error + (std::abs(normed) + std::abs(bias[i])) * (rounding<T>() + 1e-6))
            << i << " of " << n;
      }
    }
  });
}

TEST_P(VisionKernelsTest, BiasRotary) {
  RandomValues random(2);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    for (const int half : {2, 8, 18, 32, 36}) {
      const auto n = static_cast<size_t>(2 * half);
      const auto x = random.normals(n);
      const auto bias = random.normals(n);
      const auto angle = random.normals(static_cast<size_t>(half), 10.0F);
      std::vector<float> cos;
      std::vector<float> sin;
      for (const float value : angle) {
        cos.push_back(std::cos(value));
        sin.push_back(std::sin(value));
      }
      std::vector<T> out(n);
      kernels.bias_rotary(x.data(), bias.data(), 2 * half, cos.data(), sin.data(), 0.125F, out.data());
      for (size_t i = 0; i < n; ++i) {
        const size_t at = i % static_cast<size_t>(half);
        const size_t pair = at + static_cast<size_t>(half);
        const double first = double{x[at]} + bias[at];
        const double second = double{x[pair]} + bias[pair];
        const double turned =
            i == at ? first * cos[at] - second * sin[at] : second * cos[at] + first * sin[at];
        EXPECT_NEAR(to_float(out[i]), 0.125 * turned,
                    0.125 * (std::abs(first) + std::abs(second)) * (rounding<T>() + 1e-6))
            << i << " of " << n;
      }
    }
  });
}

TEST_P(VisionKernelsTest, BiasedGelus) {
  RandomValues random(3);
  const auto exact = [](double y) { return 0.5 * y * (1 + std::erf(y / std::sqrt(2.0))); };
  const auto by_tanh = [](double y) {
    return 0.5 * y * (1 + std::tanh(std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
  };
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    for (const int n : kSizes) {
      auto x = random.normals(static_cast<size_t>(n), 3.0F);
      const auto bias = random.normals(static_cast<size_t>(n));
      x[0] = -300.0F;
      if (n > 1) x[1] = 300.0F;
      if (n > 2) x[2] = -bias[2];
      std::vector<T> with_tanh(static_cast<size_t>(n));
      std::vector<T> with_erf(static_cast<size_t>(n));
      std::vector<T> plain(static_cast<size_t>(n));
      kernels.bias_gelu_tanh(x.data(), bias.data(), n, with_tanh.data());
      kernels.bias_gelu(x.data(), bias.data(), n, with_erf.data());
      kernels.store_bias(x.data(), bias.data(), n, plain.data());
      for (size_t i = 0; i < plain.size(); ++i) {
        const float y = x[i] + bias[i];
        EXPECT_NEAR(to_float(plain[i]), y, std::abs(y) * rounding<T>());
        const double error = std::abs(y) * 1e-6;
        EXPECT_NEAR(to_float(with_tanh[i]), by_tanh(y), std::abs(by_tanh(y)) * rounding<T>() + error) << y;
        EXPECT_NEAR(to_float(with_erf[i]), exact(y), std::abs(exact(y)) * rounding<T>() + error) << y;
      }
    }
  });
}

TEST_P(VisionKernelsTest, Additions) {
  RandomValues random(4);
  for (const int n : kSizes) {
    const auto size = static_cast<size_t>(n);
    const auto x = random.normals(size);
    const auto y = random.normals(size);
    const auto bias = random.normals(size);
    auto sum = x;
    GetParam()->add_bias(y.data(), bias.data(), n, sum.data());
    const auto entries = random.normals(4 * size);
    const float* const rows[4] = {entries.data(), entries.data() + size, entries.data() + 2 * size,
                                  entries.data() + 3 * size};
    const float weights[4] = {0.5F, -0.25F, 2.0F, 0.125F};
    auto mixed = x;
    GetParam()->add_weighted(rows, weights, n, mixed.data());
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(sum[i], double{x[i]} + y[i] + bias[i], 2e-6);
      double expected = x[i];
      for (size_t j = 0; j < 4; ++j) expected += double{weights[j]} * rows[j][i];
      EXPECT_NEAR(mixed[i], expected, 5e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, VisionKernelsTest, ::testing::ValuesIn(supported_kernel_tables()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace d3::cpu
