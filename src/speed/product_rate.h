// speed/product_rate.h: how fast oneDNN alone multiplies a model's matrices on this machine.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "checkpoint/config.h"
#include "cpu/executor.h"

namespace d3::speed {

/// A weight's inputs and outputs.
using ProductShape = std::pair<int, int>;

/// The weights of a linear_attention layer, fused as the executor fuses them.
std::vector<ProductShape> text_products(const checkpoint::TextConfig& config);

/// The weights of a block of the vision tower.
std::vector<ProductShape> vision_products(const checkpoint::VisionConfig& config);

/// One plain oneDNN product per weight, with oneDNN's own threads, weights in its own layout, results in bf16
/// (fp32 for float32, int32 for int8) and no work in between.
class ProductRate {
 public:
  /// threads: 0 for every CPU. bfloat16 is measured as float32 where oneDNN has no bf16 products for the CPU.
  ProductRate(std::vector<ProductShape> shapes, cpu::Dtype dtype, int threads);
  ~ProductRate();

  /// What is multiplied.
  cpu::Dtype dtype() const;

  /// Runs each product once on `rows` rows; operations per second over all of them.
  double flops_per_second(int rows);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace d3::speed
