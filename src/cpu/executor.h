// cpu/executor.h: the executor for CPUs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "model/executor.h"

namespace d3::cpu {

enum class Dtype { kFloat32, kBfloat16, kInt8 };

/// "float32", "bfloat16", "int8".
std::string_view dtype_name(Dtype dtype);

/// The dtype of that name; none for another.
std::optional<Dtype> dtype_from_name(std::string_view name);

/// What activations are rounded to before they are multiplied by bf16 weights, which with kInt8 are the vision
/// tower's (float32 weights: float32 always). bfloat16 arithmetic is the fastest one on CPUs with AMX and some
/// with AVX512_BF16; float16 (11 bits and short sums in fp16, where bfloat16 has 8 bits and sums in fp32: about
/// as exact) on those with AVX512-FP16 and without AMX; float32 on all others, and the most exact one.
enum class Arithmetic { kAuto, kBfloat16, kFloat16, kFloat32 };

struct ExecutorOptions {
  Dtype dtype = Dtype::kBfloat16;
  int threads = 0;  ///< 0: every CPU the process may use
  std::string cpu_target =
      {};  ///< SIMD target by name (kernels/kernel_table.h); empty: the best this CPU has
  Arithmetic arithmetic = Arithmetic::kAuto;  ///< kAuto: the fastest, measured in a few milliseconds
  /// Called from the loading thread with the share of the weights packed so far, 0 to 1.
  std::function<void(double)> on_progress = {};
};

/// Packs the weights for this machine. Throws Error(kInvalidArgument) for an unknown cpu_target,
/// Error(kUnsupported) for one, a dtype or an arithmetic that this CPU lacks. The checkpoint must outlive the
/// executor (embeddings stay mapped).
std::unique_ptr<model::Executor> make_executor(const checkpoint::Checkpoint& checkpoint,
                                               const ExecutorOptions& options);

}  // namespace d3::cpu
