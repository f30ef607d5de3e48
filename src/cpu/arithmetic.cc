#include "cpu/arithmetic.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

namespace d3::cpu {
namespace {

constexpr int kRows = 96;
constexpr int kIn = 1024;
constexpr int kOut = 128;
constexpr int kRounds = 5;

template <typename Product>
double seconds(const Product& product) {
  const auto start = std::chrono::steady_clock::now();
  product();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Bf16Rates measure_bf16_rates(Machine& machine) {
  const std::vector<Bf16> weights(static_cast<size_t>(kIn) * kOut, to_bf16(0.5F));
  std::vector<float> out(static_cast<size_t>(kRows) * kOut);

  const WidenedKernels& widened = machine.kernels.widened;
  std::vector<const Bf16*> columns;
  for (int column = 0; column < kOut; ++column)
    columns.push_back(weights.data() + static_cast<ptrdiff_t>(column) * kIn);
  const std::vector<float> tiles(static_cast<size_t>(kRows) * kIn, 0.5F);
  const auto run_widened = [&] {
    widened.product(tiles.data(), kRows, columns.data(), kIn, kOut, out.data());
  };

  const bool native = machine.products.supports(ProductType::kBfloat16);
  const Matmul* product = nullptr;
  std::vector<std::byte> packed;
  const std::vector<Bf16> x(static_cast<size_t>(kRows) * kIn, to_bf16(0.5F));
  if (native) {
    product = &machine.products.get({ProductType::kBfloat16, kRows, kIn, kOut, false});
    packed.resize(machine.products.packed_bytes(ProductType::kBfloat16, kIn, kOut));
    machine.products.pack(ProductType::kBfloat16, kIn, kOut, true, kIn, weights.data(), packed.data());
  }
  const auto run_native = [&] { product->run(0, x.data(), packed.data(), out.data()); };

  double widened_seconds = std::numeric_limits<double>::infinity();
  double native_seconds = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    widened_seconds = std::min(widened_seconds, seconds(run_widened));
    if (native) native_seconds = std::min(native_seconds, seconds(run_native));
  }
  constexpr double kOperations = 2.0 * kRows * kIn * kOut;
  return {.bfloat16 = kOperations / native_seconds, .float32 = kOperations / widened_seconds};
}

bool int8_products_are_exact(Machine& machine) {
  if (!machine.products.supports(ProductType::kInt8)) return false;
  const std::vector<uint8_t> x(static_cast<size_t>(kRows) * kIn, 255);
  const std::vector<int8_t> weights(static_cast<size_t>(kIn) * kOut, 127);
  std::vector<std::byte> packed(machine.products.packed_bytes(ProductType::kInt8, kIn, kOut));
  machine.products.pack(ProductType::kInt8, kIn, kOut, true, kIn, weights.data(), packed.data());
  std::vector<int32_t> sums(static_cast<size_t>(kRows) * kOut);
  machine.products.get({ProductType::kInt8, kRows, kIn, kOut, false})
      .run(0, x.data(), packed.data(), sums.data());
  return std::ranges::all_of(sums, [](int32_t sum) { return sum == 255 * 127 * kIn; });
}

}  // namespace d3::cpu
