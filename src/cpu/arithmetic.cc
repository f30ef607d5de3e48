#include "cpu/arithmetic.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace d3::cpu {
namespace {

constexpr int kRows = 96;
constexpr int kIn = 1024;
constexpr int kOut = 128;
constexpr int kRounds = 5;

/// A product of kRows rows of kIn inputs, kOut columns of weights; run() runs it on one thread.
class Candidate {
 public:
  virtual ~Candidate() = default;
  virtual void run() = 0;

  /// Runs it once more and keeps the best rate.
  void time() {
    const auto start = std::chrono::steady_clock::now();
    run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    rate_ = std::max(rate_, 2.0 * kRows * kIn * kOut / seconds);
  }
  double rate() const { return rate_; }

 private:
  double rate_ = 0;
};

/// The weights of all candidates.
struct Weights {
  std::vector<Bf16> values = std::vector<Bf16>(static_cast<size_t>(kIn) * kOut, to_bf16(0.5F));
  std::vector<const Bf16*> columns;

  Weights() {
    for (int column = 0; column < kOut; ++column)
      columns.push_back(values.data() + static_cast<ptrdiff_t>(column) * kIn);
  }
};

class WidenedCandidate : public Candidate {
 public:
  WidenedCandidate(const WidenedKernels& kernels, const Weights& weights)
      : kernels_(kernels),
        weights_(weights),
        rows_(TileRows::of(kRows, kernels.tile_rows)),
        tiles_(static_cast<size_t>(rows_.tiles) * kernels.tile_words(kIn), std::bit_cast<uint32_t>(0.5F)) {}
  void run() override {
    kernels_.product(tiles_.data(), rows_, weights_.columns.data(), kIn, kOut, out_.data());
  }

 private:
  const WidenedKernels& kernels_;
  const Weights& weights_;
  const TileRows rows_;
  const std::vector<uint32_t> tiles_;
  std::vector<float> out_ = std::vector<float>(static_cast<size_t>(kRows) * kOut);
};

/// Kernels of ours that pack the weights.
class PackedCandidate : public Candidate {
 public:
  PackedCandidate(const PackedKernels& kernels, const Weights& weights)
      : kernels_(kernels),
        rows_(TileRows::of(kRows, kernels.tile_rows)),
        tiles_(static_cast<size_t>(rows_.tiles) * kernels.tile_words(kIn)),
        packed_(kernels.packed_bytes(kIn, kOut)) {
    const std::vector<float> x(static_cast<size_t>(kRows) * kIn, 0.5F);
    for (int tile = 0; tile < rows_.tiles; ++tile)
      kernels_.pack_tile(x.data(), rows_.height(tile), kIn,
                         tiles_.data() + static_cast<size_t>(tile) * kernels.tile_words(kIn));
    kernels_.pack_columns(weights.columns.data(), kIn, kOut, packed_.data());
  }
  void run() override {
    kernels_.product(tiles_.data(), rows_, packed_.data(), kIn, kOut, false, out_.data());
  }

 private:
  const PackedKernels& kernels_;
  const TileRows rows_;
  std::vector<uint32_t> tiles_;
  AlignedBuffer packed_;
  std::vector<float> out_ = std::vector<float>(static_cast<size_t>(kRows) * kOut);
};

/// oneDNN's, of weights and activations whose elements have the size of T.
template <typename T>
class OneDnnCandidate : public Candidate {
 public:
  OneDnnCandidate(MatmulCache& products, ProductType type, T value)
      : product_(products.get({type, kRows, kIn, kOut, false})),
        x_(static_cast<size_t>(kRows) * kIn, value),
        packed_(products.packed_bytes(type, kIn, kOut)) {
    const std::vector<T> weights(static_cast<size_t>(kIn) * kOut, value);
    products.pack(type, kIn, kOut, true, kIn, weights.data(), packed_.data());
  }
  void run() override { product_.run(0, x_.data(), packed_.data(), out_.data()); }

 private:
  const Matmul& product_;
  const std::vector<T> x_;
  std::vector<std::byte> packed_;
  std::vector<float> out_ = std::vector<float>(static_cast<size_t>(kRows) * kOut);
};

/// Runs those that exist in turns, so that all meet the same phases of a shared machine.
void time_in_turns(std::initializer_list<Candidate*> candidates) {
  for (int round = 0; round < kRounds; ++round)
    for (Candidate* candidate : candidates)
      if (candidate) candidate->time();
}

double rate_of(const std::unique_ptr<Candidate>& candidate) { return candidate ? candidate->rate() : 0; }

}  // namespace

Bf16Rates measure_bf16_rates(Machine& machine) {
  const Weights weights;
  std::unique_ptr<Candidate> bfloat16;
  std::unique_ptr<Candidate> float16;
  if (machine.products.supports(ProductType::kBfloat16))
    bfloat16 =
        std::make_unique<OneDnnCandidate<Bf16>>(machine.products, ProductType::kBfloat16, to_bf16(0.5F));
  if (has_float16_products(machine.kernels))
    float16 = std::make_unique<PackedCandidate>(machine.kernels.float16, weights);
  WidenedCandidate float32(machine.kernels.widened, weights);
  time_in_turns({bfloat16.get(), float16.get(), &float32});
  return {.bfloat16 = rate_of(bfloat16), .float16 = rate_of(float16), .float32 = float32.rate()};
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

Int8Rates measure_int8_rates(Machine& machine) {
  const Weights weights;
  std::unique_ptr<Candidate> one_scale;
  std::unique_ptr<Candidate> grouped;
  if (int8_products_are_exact(machine))
    one_scale = std::make_unique<OneDnnCandidate<int8_t>>(machine.products, ProductType::kInt8, int8_t{1});
  if (has_int8_products(machine.kernels))
    grouped = std::make_unique<PackedCandidate>(machine.kernels.int8, weights);
  time_in_turns({one_scale.get(), grouped.get()});
  return {.one_scale = rate_of(one_scale), .grouped = rate_of(grouped)};
}

}  // namespace d3::cpu
