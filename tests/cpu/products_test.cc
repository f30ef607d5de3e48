// Linear layers and attention against plain double arithmetic, in every number format.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cpu/arithmetic.h"
#include "cpu/attention.h"
#include "cpu/linear.h"
#include "cpu/random_values.h"

namespace d3::cpu {
namespace {

using test::narrow;
using test::RandomValues;
using test::rounding;

checkpoint::TensorView view(const std::vector<float>& values, int64_t rows, int64_t columns) {
  return {"w", checkpoint::Dtype::kFloat32, {rows, columns}, std::as_bytes(std::span(values))};
}

/// y = x Wᵀ through a Linear of uneven panels; compares every value and checks that each block came once.
template <typename T>
void check_linear(ProductType type, int rows, double tolerance, int inputs_of = 96) {
  const int kIn = inputs_of;
  constexpr int kOut = 75;
  Machine machine(select_kernel_table(""), 2);
  use_one_thread_for_products();
  RandomValues random(static_cast<unsigned>(rows));
  const auto count = static_cast<size_t>(kIn);
  const auto weights = random.normals(kOut * count, 0.1F);
  const auto more = random.normals(3 * count, 0.1F);
  const auto weight = view(weights, kOut, kIn);
  const auto second = view(more, 3, kIn);
  const std::vector<PanelSpec> panels = {
      {{{&weight, 0, 32}}, 1, 0}, {{{&weight, 32, 40}}, 1, 32}, {{{&weight, 72, 3}, {&second, 0, 3}}, 2, 72}};
  const Linear linear(machine, type, panels);
  auto inputs = random.normals(static_cast<size_t>(rows * kIn));
  auto x = narrow<T>(inputs);
  x.resize(x.size() + 128 * count);
  std::vector<float> y(static_cast<size_t>(rows * (kOut + 3)), NAN);
  linear.run(machine, x.data(), rows, [&](const ProductBlock& block) {
    for (int row = 0; row < block.rows; ++row)
      for (int column = 0; column < block.columns; ++column) {
        float& to = y[static_cast<size_t>((block.row + row) * (kOut + 3) + block.index + column)];
        EXPECT_TRUE(std::isnan(to));
        to = block.values[row * block.columns + column];
      }
  });
  double worst = 0;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < kOut + 3; ++column) {
      const float* w = column < kOut ? &weights[static_cast<size_t>(column * kIn)]
                                     : &more[static_cast<size_t>((column - kOut) * kIn)];
      double expected = 0;
      for (int i = 0; i < kIn; ++i)
        expected += double{w[i]} * to_float(x[static_cast<size_t>(row * kIn + i)]);
      worst = std::max(worst, std::abs(expected - y[static_cast<size_t>(row * (kOut + 3) + column)]));
    }
  }
  EXPECT_LT(worst, tolerance) << rows << " rows";
}

TEST(Linear, EqualsPlainArithmetic) {
  // Sums of 96 products of deviation 0.1 have deviation 1; weights are rounded once per format.
  Machine machine(select_kernel_table(""), 1);
  const bool bfloat16 = machine.products.supports(ProductType::kBfloat16);
  const bool int8 = int8_products_are_exact(machine);
  for (const int rows : {1, 5, 64, 128, 129, 300}) {
    check_linear<float>(ProductType::kFloat32, rows, 1e-5);
    if (bfloat16) check_linear<Bf16>(ProductType::kBfloat16, rows, 8 * rounding<Bf16>());
    if (int8) {
      check_linear<Bf16>(ProductType::kInt8, rows, 0.08);
      check_linear<float>(ProductType::kInt8, rows, 0.08);
    }
    check_linear<float>(ProductType::kWidened, rows, 8 * rounding<Bf16>());
  }
}

TEST(Linear, EqualsPlainArithmeticInPackedProducts) {
  const KernelTable& kernels = select_kernel_table("");
  // 700 inputs: slices and groups that are not whole. Sums have a deviation of 2.6; the weights' own rounding
  // to bf16, the activations' to 11 bits and that of sums in fp16 add up to far less than a hundredth of it.
  for (const int rows : {1, 12, 13, 37, 264, 265, 600}) {
    if (has_float16_products(kernels)) {
      check_linear<float>(ProductType::kFloat16, rows, 8 * rounding<Bf16>(), 96);
      check_linear<float>(ProductType::kFloat16, rows, 16 * rounding<Bf16>(), 700);
    }
    if (has_int8_products(kernels)) {
      check_linear<float>(ProductType::kGroupedInt8, rows, 0.08, 96);
      check_linear<float>(ProductType::kGroupedInt8, rows, 0.2, 700);
      check_linear<float>(ProductType::kGroupedInt8, rows, 0.2, 513);
    }
    check_linear<float>(ProductType::kWidened, rows, 16 * rounding<Bf16>(), 700);
    check_linear<float>(ProductType::kFloat32, rows, 1e-4, 700);
    check_linear<float>(ProductType::kFloat32, rows, 1e-4, 513);
  }
}

// A request's answer must not change with what else is in its batch.
TEST(Linear, ARowsResultsDoNotDependOnTheOthers) {
  constexpr int kIn = 700;
  constexpr int kOut = 75;
  constexpr int kRows = 300;
  Machine machine(select_kernel_table(""), 2);
  use_one_thread_for_products();
  RandomValues random(1);
  const auto weights = random.normals(size_t{kOut} * kIn);
  const auto weight = view(weights, kOut, kIn);
  const PanelSpec panel{{{&weight, 0, kOut}}, 0, 0};
  const auto x = random.normals(size_t{kRows} * kIn);
  std::vector<ProductType> types = {ProductType::kFloat32, ProductType::kWidened};
  if (has_float16_products(machine.kernels)) types.push_back(ProductType::kFloat16);
  if (has_int8_products(machine.kernels)) types.push_back(ProductType::kGroupedInt8);
  for (const ProductType type : types) {
    const Linear linear(machine, type, std::span(&panel, 1));
    const auto results = [&](int first, int rows) {
      std::vector<float> y(static_cast<size_t>(rows) * kOut);
      linear.run(machine, x.data() + static_cast<ptrdiff_t>(first) * kIn, rows,
                 [&](const ProductBlock& block) {
                   std::copy_n(block.values, block.rows * kOut, y.begin() + block.row * kOut);
                 });
      return y;
    };
    const std::vector<float> together = results(0, kRows);
    for (const auto &[first, rows] : {std::pair(0, 1), {7, 1}, {40, 5}, {151, 13}, {20, 270}})
      EXPECT_TRUE(std::ranges::equal(
          results(first, rows),
          std::span(together).subspan(static_cast<size_t>(first) * kOut, static_cast<size_t>(rows) * kOut)))
          << "type " << static_cast<int>(type) << ", " << rows << " rows from " << first;
  }
}

// Checkpoints hold weights of several dtypes, and a panel may be of more than one.
TEST(Linear, ReadsWeightsOfTwoDtypesExactly) {
  constexpr int kIn = 96;
  Machine machine(select_kernel_table(""), 1);
  use_one_thread_for_products();
  RandomValues random(2);
  const auto exact = random.normals(16 * kIn);
  const auto narrowed = narrow<Bf16>(random.normals(16 * kIn));
  const auto float32 = view(exact, 16, kIn);
  const checkpoint::TensorView bfloat16{
      "b", checkpoint::Dtype::kBfloat16, {16, kIn}, std::as_bytes(std::span(narrowed))};
  const std::vector<PanelSpec> panels = {{{{&float32, 0, 16}}, 0, 0},
                                         {{{&bfloat16, 0, 16}}, 0, 16},
                                         {{{&float32, 3, 5}, {&bfloat16, 9, 4}}, 0, 32}};
  const Linear linear(machine, ProductType::kFloat32, panels);
  std::vector<float> x(kIn);
  x[17] = 1;
  std::vector<float> y(41);
  linear.run(machine, x.data(), 1, [&](const ProductBlock& block) {
    std::copy_n(block.values, block.columns, y.begin() + block.index);
  });
  std::vector<float> expected;
  const auto add_rows = [&](const auto& values, int first, int rows) {
    for (int row = first; row < first + rows; ++row)
      expected.push_back(to_float(values[static_cast<size_t>(row) * kIn + 17]));
  };
  add_rows(exact, 0, 16);
  add_rows(narrowed, 0, 16);
  add_rows(exact, 3, 5);
  add_rows(narrowed, 9, 4);
  EXPECT_EQ(y, expected);
}

// fp16 has few exponents: neither large nor tiny values may be lost, nor sums overflow.
TEST(Linear, Float16ProductsKeepTheRange) {
  Machine machine(select_kernel_table(""), 2);
  if (!has_float16_products(machine.kernels)) GTEST_SKIP() << "this CPU has no float16 products";
  constexpr int kIn = 192;
  constexpr int kRows = 3;
  const std::vector<float> weights(64 * kIn, 1e4F);
  const auto weight = view(weights, 64, kIn);
  const PanelSpec panel{{{&weight, 0, 64}}, 0, 0};
  const Linear linear(machine, ProductType::kFloat16, std::span(&panel, 1));
  std::vector<float> x(kRows * kIn);
  // Equal values make the largest sums, and the largest rounding: all in one direction.
  std::fill_n(x.begin(), kIn, 1e30F);
  std::fill_n(x.begin() + kIn, kIn, -1e-30F);    // and the smallest
  std::fill_n(x.begin() + 2 * kIn, kIn, 1e-6F);  // small beside the row's largest
  x[2 * kIn] = 1;
  linear.run(machine, x.data(), kRows, [&](const ProductBlock& block) {
    const double w = to_float(to_bf16(1e4F));
    const double expected[kRows] = {w * kIn * 1e30, -w * kIn * 1e-30, w * (1 + (kIn - 1) * 1e-6)};
    for (int row = 0; row < block.rows; ++row)
      for (int column = 0; column < block.columns; ++column)
        EXPECT_NEAR(block.values[row * block.columns + column] / expected[block.row + row], 1, 1e-2);
  });
}

TEST(Linear, RunsOnlyTheAskedPanels) {
  Machine machine(select_kernel_table(""), 2);
  use_one_thread_for_products();
  const std::vector<float> weights(64 * 32, 1.0F);
  const auto weight = view(weights, 64, 32);
  const std::vector<PanelSpec> panels = {{{{&weight, 0, 32}}, 0, 0}, {{{&weight, 32, 32}}, 1, 32}};
  const Linear linear(machine, ProductType::kFloat32, panels);
  const std::vector<float> x(300 * 32, 1.0F);
  std::mutex mutex;
  std::set<std::pair<int, int64_t>> seen;
  linear.run(machine, x.data(), 300,
             [&](const ProductBlock& block) {
               const std::lock_guard lock(mutex);
               EXPECT_TRUE(seen.emplace(block.role, block.row).second);
             },
             {1, 2});
  EXPECT_EQ(seen, (std::set<std::pair<int, int64_t>>{{1, 0}, {1, 150}}));
}

struct AttentionCase {
  AttentionShape shape;
  std::vector<int64_t> lengths;
  bool last_only = false;
};

template <typename T>
void check_attention(const AttentionCase& test, double tolerance, bool float16 = false) {
  const int heads = test.shape.heads;
  const int kv_heads = test.shape.kv_heads;
  const int dim = test.shape.head_dim;
  const bool causal = test.shape.causal;
  const int group = heads / kv_heads;
  int64_t keys = 0;
  std::vector<AttentionSequence> sequences;
  for (const int64_t length : test.lengths) {
    const auto index = static_cast<int64_t>(sequences.size());
    sequences.push_back(test.last_only ? AttentionSequence{index, 1, keys, length, length - 1}
                                       : AttentionSequence{keys, length, keys, length, 0});
    keys += length;
  }
  const int64_t queries = test.last_only ? static_cast<int64_t>(sequences.size()) : keys;
  RandomValues random(11);
  const auto values = [&](int64_t count, float deviation) {
    auto v = narrow<T>(random.normals(static_cast<size_t>(count * dim), deviation));
    v.resize(v.size() + static_cast<size_t>(kAttentionPadding * group * dim));
    return v;
  };
  const auto q = values(queries * heads, 0.3F);
  const auto k = values(keys * kv_heads, 1.0F);
  const auto v = values(keys * kv_heads, 1.0F);
  const auto gate = random.normals(static_cast<size_t>(queries * heads * dim));
  std::vector<T> out(static_cast<size_t>(queries * heads * dim));
  Machine machine(select_kernel_table(""), 2);
  use_one_thread_for_products();
  Attention<T> attention(test.shape, float16);
  attention.run(machine, {q.data(), k.data(), v.data(), gate.data(), out.data(), queries, keys}, sequences);

  const auto at = [&](const std::vector<T>& x, int64_t row, int64_t i) {
    return double{to_float(x[static_cast<size_t>(row * dim + i)])};
  };
  double worst = 0;
  for (const AttentionSequence& s : sequences) {
    for (int64_t query = 0; query < s.queries; query += 1 + s.queries / 40) {
      for (int head = 0; head < heads; ++head) {
        const int kv = head / group;
        const int64_t q_row = (kv * queries + s.first_query + query) * group + head % group;
        const int64_t visible = causal ? s.first_position + query + 1 : s.keys;
        std::vector<double> p;
        double sum = 0;
        for (int64_t key = 0; key < visible; ++key) {
          double score = 0;
          for (int64_t i = 0; i < dim; ++i)
            score += at(q, q_row, i) * at(k, kv * keys + s.first_key + key, i);
          p.push_back(std::exp(score));
          sum += p.back();
        }
        for (int64_t i = 0; i < dim; ++i) {
          double expected = 0;
          for (int64_t key = 0; key < visible; ++key)
            expected += p[static_cast<size_t>(key)] / sum * at(v, kv * keys + s.first_key + key, i);
          const int64_t row = (s.first_query + query) * heads + head;
          expected *= gate[static_cast<size_t>(row * dim + i)];
          worst = std::max(worst, std::abs(expected - at(out, row, i)) / (1.0 + std::abs(expected)));
        }
      }
    }
  }
  EXPECT_LT(worst, tolerance);
}

TEST(Attention, EqualsPlainSoftmax) {
  const std::vector<int64_t> lengths = {1, 70, 33, 600};
  Machine machine(select_kernel_table(""), 1);
  const bool float16 = has_float16_products(machine.kernels);
  const bool bfloat16 = machine.products.supports(ProductType::kBfloat16);
  for (const bool causal : {false, true}) {
    for (const bool last_only : {false, true}) {
      for (const auto& [heads, kv_heads] : {std::pair{2, 1}, {4, 2}, {6, 1}, {3, 3}}) {
        const AttentionCase test{{heads, kv_heads, 64, causal}, lengths, last_only};
        check_attention<float>(test, 1e-5);
        if (bfloat16) check_attention<Bf16>(test, 4 * rounding<Bf16>());
        if (float16) check_attention<float>(test, 10 * rounding<Bf16>(), true);
      }
    }
  }
}

TEST(Attention, SpansManyKeyBlocks) {
  const bool float16 = has_float16_products(select_kernel_table(""));
  for (const bool causal : {false, true}) {
    check_attention<float>({{2, 1, 32, causal}, {1300}, false}, 1e-5);
    if (float16) check_attention<float>({{2, 1, 32, causal}, {1300}, false}, 2 * rounding<Bf16>(), true);
  }
}

}  // namespace
}  // namespace d3::cpu
