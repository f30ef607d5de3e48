// Every kernel of every SIMD target this CPU has, against plain double arithmetic.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cpu/kernels/kernel_table.h"
#include "cpu/random_values.h"

namespace d3::cpu {
namespace {

using test::narrow;
using test::RandomValues;
using test::rounding;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

class KernelsTest : public ::testing::TestWithParam<const KernelTable*> {
 protected:
  /// Runs body<T>(kernels of T) for both activation types.
  template <typename Body>
  void for_both_types(const Body& body) {
    body(GetParam()->f32, float{});
    body(GetParam()->bf16, Bf16{});
  }
};

// Sizes below, at and between vector lengths.
constexpr int kSizes[] = {1, 3, 7, 8, 15, 16, 17, 31, 64, 100, 255, 256};

TEST_P(KernelsTest, RmsNorm) {
  RandomValues random(1);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    for (const int n : kSizes) {
      const auto x = random.normals(static_cast<size_t>(n), 3.0F);
      const auto scale = random.normals(static_cast<size_t>(n));
      std::vector<T> out(static_cast<size_t>(n));
      kernels.rms_norm(x.data(), scale.data(), n, 1e-6F, out.data());
      double squares = 0;
      for (const float v : x) squares += double{v} * v;
      const double factor = 1.0 / std::sqrt(squares / n + 1e-6);
      for (size_t i = 0; i < out.size(); ++i) {
        const double expected = x[i] * factor * scale[i];
        EXPECT_NEAR(to_float(out[i]), expected, std::abs(expected) * (rounding<T>() + 1e-6) + 1e-12);
      }
    }
  });
}

TEST_P(KernelsTest, Gates) {
  RandomValues random(2);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    for (const int n : kSizes) {
      auto gate = random.normals(static_cast<size_t>(n), 5.0F);
      gate[0] = -200.0F;
      if (n > 1) gate[1] = 200.0F;
      const auto up = random.normals(static_cast<size_t>(n));
      std::vector<T> product(static_cast<size_t>(n));
      std::vector<T> sigmoids(static_cast<size_t>(n));
      std::vector<T> gated(static_cast<size_t>(n));
      kernels.silu_mul(gate.data(), up.data(), n, product.data());
      kernels.store_sigmoid(gate.data(), n, sigmoids.data());
      kernels.scale_gate(up.data(), 0.37F, gate.data(), n, gated.data());
      for (size_t i = 0; i < product.size(); ++i) {
        const double silu = gate[i] * sigmoid(gate[i]) * up[i];
        EXPECT_NEAR(to_float(product[i]), silu, std::abs(silu) * (rounding<T>() + 1e-6) + 1e-30);
        const double s = sigmoid(gate[i]);
        EXPECT_NEAR(to_float(sigmoids[i]), s, s * (rounding<T>() + 1e-6) + 1e-30);
        const double g = double{0.37F} * up[i] * gate[i];
        EXPECT_NEAR(to_float(gated[i]), g, std::abs(g) * (rounding<T>() + 1e-6) + 1e-30);
      }
    }
  });
}

TEST_P(KernelsTest, NormRotary) {
  RandomValues random(3);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    constexpr int kDim = 256;
    constexpr int kHalf = 32;
    const auto x = random.normals(kDim);
    const auto scale = random.normals(kDim);
    const auto angle = random.normals(kHalf, 10.0F);
    std::vector<float> cos(kHalf);
    std::vector<float> sin(kHalf);
    for (size_t i = 0; i < kHalf; ++i) {
      cos[i] = std::cos(angle[i]);
      sin[i] = std::sin(angle[i]);
    }
    std::vector<T> out(kDim);
    kernels.norm_rotary(x.data(), scale.data(), kDim, 1e-6F, cos.data(), sin.data(), kHalf, 0.0625F,
                        out.data());
    double squares = 0;
    for (const float v : x) squares += double{v} * v;
    const double factor = 0.0625 / std::sqrt(squares / kDim + 1e-6);
    const auto normed = [&](size_t i) { return x[i] * factor * scale[i]; };
    for (size_t i = 0; i < kDim; ++i) {
      double expected = normed(i);
      if (i < kHalf) expected = normed(i) * cos[i] - normed(i + kHalf) * sin[i];
      if (i >= kHalf && i < 2 * kHalf)
        expected = normed(i) * cos[i - kHalf] + normed(i - kHalf) * sin[i - kHalf];
      EXPECT_NEAR(to_float(out[i]), expected, 0.3 * (rounding<T>() + 1e-6)) << i;
    }
  });
}

TEST_P(KernelsTest, ConvSilu) {
  RandomValues random(4);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    constexpr int kTokens = 11;
    const auto weight = random.normals(4 * kDeltaHeadDim);
    const auto values = narrow<T>(random.normals((kTokens + 3) * kDeltaHeadDim));
    for (const int history : {0, 1, 3}) {
      std::vector<const T*> rows(kTokens + 3, nullptr);
      for (int t = -history; t < kTokens; ++t)
        rows[static_cast<size_t>(t + 3)] = values.data() + (t + 3) * kDeltaHeadDim;
      std::vector<float> out(kTokens * kDeltaHeadDim);
      kernels.conv_silu(rows.data() + 3, kTokens, weight.data(), out.data());
      for (int t = 0; t < kTokens; ++t) {
        for (int c = 0; c < kDeltaHeadDim; ++c) {
          double y = 0;
          for (int tap = 0; tap < 4; ++tap) {
            const T* row = rows[static_cast<size_t>(t + tap)];
            if (row) y += double{weight[static_cast<size_t>(tap * kDeltaHeadDim + c)]} * to_float(row[c]);
          }
          EXPECT_NEAR(out[static_cast<size_t>(t * kDeltaHeadDim + c)], y * sigmoid(y), 1e-5);
        }
      }
    }
  });
}

TEST_P(KernelsTest, GatedRmsNorm) {
  RandomValues random(5);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    const auto x = random.normals(kDeltaHeadDim, 0.01F);
    const auto weight = random.normals(kDeltaHeadDim);
    const auto z = random.normals(kDeltaHeadDim, 4.0F);
    std::vector<T> out(kDeltaHeadDim);
    kernels.gated_rms_norm(x.data(), weight.data(), 1e-6F, z.data(), out.data());
    double squares = 0;
    for (const float v : x) squares += double{v} * v;
    const double factor = 1.0 / std::sqrt(squares / kDeltaHeadDim + 1e-6);
    for (size_t i = 0; i < out.size(); ++i) {
      const double gate = z[i];
      const double expected = x[i] * factor * weight[i] * gate * sigmoid(gate);
      EXPECT_NEAR(to_float(out[i]), expected, std::abs(expected) * (rounding<T>() + 1e-6) + 1e-12);
    }
  });
}

TEST_P(KernelsTest, SoftmaxOverBlocks) {
  RandomValues random(6);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    constexpr int kBlock = 48;
    for (const int keys : {1, 15, 48, 49, 96, 131}) {
      auto scores = random.normals(static_cast<size_t>(keys), 8.0F);
      scores.back() = 60.0F;  // the last block moves the maximum far up
      float running_max = -std::numeric_limits<float>::infinity();
      float running_sum = 0.0F;
      std::vector<double> numerators;
      for (int first = 0; first < keys + kBlock;
           first += kBlock) {  // one block without valid scores at the end
        const int valid = std::clamp(keys - first, 0, kBlock);
        std::vector<float> block(kBlock, 1e30F);  // beyond `valid` anything may stand
        std::copy_n(scores.begin() + std::min(first, keys), valid, block.begin());
        std::vector<T> out(kBlock);
        const float factor =
            kernels.softmax_block(block.data(), valid, kBlock, &running_max, &running_sum, out.data());
        for (double& numerator : numerators) numerator *= factor;
        for (int i = 0; i < kBlock; ++i) {
          if (i < valid)
            numerators.push_back(to_float(out[static_cast<size_t>(i)]));
          else
            EXPECT_EQ(to_float(out[static_cast<size_t>(i)]), 0.0F);
        }
      }
      double sum = 0;
      for (const float score : scores) sum += std::exp(double{score} - 60.0);
      ASSERT_EQ(numerators.size(), scores.size());
      for (size_t i = 0; i < scores.size(); ++i) {
        const double expected = std::exp(double{scores[i]} - 60.0) / sum;
        EXPECT_NEAR(numerators[i] / running_sum, expected, expected * (rounding<T>() + 1e-5) + 1e-30);
      }
    }
  });
}

TEST_P(KernelsTest, QuantizeAndDequantize) {
  RandomValues random(7);
  for_both_types([&]<typename T>(const TypedKernels<T>& kernels, T) {
    for (const int n : kSizes) {
      const auto x = narrow<T>(random.normals(static_cast<size_t>(n), 2.0F));
      std::vector<uint8_t> q(static_cast<size_t>(n));
      const float scale = kernels.quantize(x.data(), n, q.data());
      float largest = 0;
      for (const T v : x) largest = std::max(largest, std::abs(to_float(v)));
      EXPECT_FLOAT_EQ(scale, largest / 127.0F);
      for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR((q[i] - 128) * scale, to_float(x[i]), scale * 0.5001);
    }
    const std::vector<T> zeros(17);
    std::vector<uint8_t> q(17);
    EXPECT_EQ(kernels.quantize(zeros.data(), 17, q.data()), 0.0F);
    for (const uint8_t value : q) EXPECT_EQ(value, 128);
  });
  for (const int n : kSizes) {
    std::vector<int32_t> sums;
    std::vector<int32_t> offset;
    for (int i = 0; i < n; ++i) {
      sums.push_back(100000 - 7777 * i);
      offset.push_back(128 * (i - 5));
    }
    const auto scale = random.normals(static_cast<size_t>(n));
    auto values = sums;
    GetParam()->dequantize(values.data(), offset.data(), 0.25F, scale.data(), n);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_FLOAT_EQ(std::bit_cast<float>(values[i]),
                      static_cast<float>(sums[i] - offset[i]) * 0.25F * scale[i]);
  }
}

TEST_P(KernelsTest, AddScaleNormalize) {
  RandomValues random(8);
  for (const int n : kSizes) {
    const auto x = random.normals(static_cast<size_t>(n));
    const auto y = random.normals(static_cast<size_t>(n));
    auto sum = x;
    GetParam()->add(y.data(), n, sum.data());
    auto scaled = x;
    GetParam()->scale(-1.5F, n, scaled.data());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(sum[i], x[i] + y[i]);
      EXPECT_EQ(scaled[i], x[i] * -1.5F);
    }
  }
  const auto x = random.normals(3 * kDeltaHeadDim);
  auto normalized = x;
  GetParam()->l2_normalize(normalized.data(), 3, 0.5F);
  for (size_t row = 0; row < 3; ++row) {
    double squares = 0;
    for (size_t i = 0; i < kDeltaHeadDim; ++i) squares += std::pow(double{x[row * kDeltaHeadDim + i]}, 2);
    for (size_t i = 0; i < kDeltaHeadDim; ++i) {
      const size_t at = row * kDeltaHeadDim + i;
      EXPECT_NEAR(normalized[at], x[at] * 0.5 / std::sqrt(squares + 1e-6), 1e-6);
    }
  }
}

TEST_P(KernelsTest, DeltaGates) {
  const std::vector<float> a = {-30.0F, -5.0F, -1.0F, 0.0F, 0.5F, 3.0F, 18.0F, 25.0F, 60.0F};
  const std::vector<float> b = {-20.0F, -3.0F, -1.0F, 0.0F, 0.5F, 2.0F, 9.0F, 30.0F, -60.0F};
  std::vector<float> decay(a.size());
  std::vector<float> beta(a.size());
  GetParam()->delta_gates(a.data(), b.data(), 1.7F, -0.25F, static_cast<int>(a.size()), decay.data(),
                          beta.data());
  for (size_t i = 0; i < a.size(); ++i) {
    const double softplus = std::log1p(std::exp(double{a[i]} - 0.25));
    EXPECT_NEAR(decay[i], std::exp(-double{1.7F} * softplus), 2e-6) << a[i];
    EXPECT_NEAR(beta[i], sigmoid(b[i]), 1e-6);
  }
}

/// The recurrence as the paper writes it, token by token in double.
std::vector<double> step_by_step(const DeltaRuleInput& in, std::vector<double>& state) {
  constexpr size_t kDim = kDeltaHeadDim;
  std::vector<double> out(static_cast<size_t>(in.tokens) * kDim);
  for (size_t t = 0; t < static_cast<size_t>(in.tokens); ++t) {
    for (size_t j = 0; j < kDim; ++j) {
      double along_key = 0;
      for (size_t i = 0; i < kDim; ++i) {
        state[i * kDim + j] *= in.decay[t];
        along_key += state[i * kDim + j] * in.key[t * kDim + i];
      }
      const double d = in.beta[t] * (in.value[t * kDim + j] - along_key);
      for (size_t i = 0; i < kDim; ++i) {
        state[i * kDim + j] += in.key[t * kDim + i] * d;
        out[t * kDim + j] += state[i * kDim + j] * in.query[t * kDim + i];
      }
    }
  }
  return out;
}

TEST_P(KernelsTest, DeltaRuleEqualsStepByStep) {
  RandomValues random(9);
  std::vector<float> state(kDeltaHeadDim * kDeltaHeadDim, 0.0F);
  std::vector<double> expected_state(state.size(), 0.0);
  // Chunks, rests of a chunk and single tokens, one state through all of them.
  for (const int tokens : {32, 1, 7, 2, 32, 3, 4}) {
    const size_t size = static_cast<size_t>(tokens) * kDeltaHeadDim;
    auto query = random.normals(size);
    auto key = random.normals(size);
    const auto value = random.normals(size);
    GetParam()->l2_normalize(query.data(), tokens, 0.0884F);
    GetParam()->l2_normalize(key.data(), tokens, 1.0F);
    std::vector<float> decay;
    std::vector<float> beta;
    for (int t = 0; t < tokens; ++t) {
      decay.push_back(t % 5 == 3 ? 0.0F : random.uniform(0.5F, 1.0F));  // a decay of zero forgets everything
      beta.push_back(random.uniform(0.0F, 1.0F));
    }
    const DeltaRuleInput input{.tokens = tokens,
                               .query = query.data(),
                               .key = key.data(),
                               .value = value.data(),
                               .decay = decay.data(),
                               .beta = beta.data()};
    std::vector<float> out(size);
    GetParam()->delta_rule(input, state.data(), out.data());
    const auto expected = step_by_step(input, expected_state);
    for (size_t i = 0; i < size; ++i) ASSERT_NEAR(out[i], expected[i], 2e-6) << i << " of " << tokens;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, KernelsTest, ::testing::ValuesIn(supported_kernel_tables()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(KernelSelection, FindsByNameAndRefusesOthers) {
  for (const KernelTable* table : supported_kernel_tables())
    EXPECT_EQ(&select_kernel_table(table->name), table);
  EXPECT_EQ(&select_kernel_table(""), supported_kernel_tables().front());
  try {
    select_kernel_table("avx1024");
    FAIL() << "an unknown target was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace d3::cpu
