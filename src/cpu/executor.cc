#include "cpu/executor.h"

#include <type_traits>
#include <utility>

#include "base/error.h"
#include "cpu/machine.h"
#include "cpu/text_model.h"

namespace d3::cpu {
namespace {

ProductType product_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return ProductType::kFloat32;
    case Dtype::kBfloat16:
      return ProductType::kBfloat16;
    case Dtype::kInt8:
      return ProductType::kInt8;
  }
  return ProductType::kFloat32;
}

/// T: the type of activations between products.
template <typename T>
class CpuExecutor : public model::Executor {
 public:
  CpuExecutor(const checkpoint::Checkpoint& checkpoint, const KernelTable& kernels,
              const ExecutorOptions& options)
      : dtype_(options.dtype),
        machine_(kernels, options.threads),
        text_model_(start_products(machine_, options.dtype), checkpoint, product_type(options.dtype),
                    options.on_progress) {}

  std::vector<float> run(const model::PackedBatch& batch) override {
    use_one_thread_for_products();
    std::vector<float> logits(static_cast<size_t>(batch.question_count() * model::kAnswerCodes));
    if (!logits.empty()) text_model_.run(batch, options_, logits.data());
    return logits;
  }

  void set_options(const model::ExecutorOptions& options) override { options_ = options; }
  model::ExecutorCounters counters() const override { return text_model_.counters(); }
  std::string dtype_name() const override { return std::string(cpu::dtype_name(dtype_)); }

 private:
  /// Before any weight is packed: refuses what this CPU cannot multiply. Attention multiplies activations as
  /// they are.
  static Machine& start_products(Machine& machine, Dtype dtype) {
    use_one_thread_for_products();
    constexpr auto kActivations = std::is_same_v<T, float> ? ProductType::kFloat32 : ProductType::kBfloat16;
    if (!machine.products.supports(product_type(dtype)) || !machine.products.supports(kActivations))
      throw Error(ErrorCode::kUnsupported, "this CPU has no products for " +
                                               std::string(cpu::dtype_name(dtype)) +
                                               "; float32 runs on every CPU");
    return machine;
  }

  const Dtype dtype_;
  Machine machine_;
  TextModel<T> text_model_;
  model::ExecutorOptions options_;
};

}  // namespace

std::string_view dtype_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return "float32";
    case Dtype::kBfloat16:
      return "bfloat16";
    case Dtype::kInt8:
      return "int8";
  }
  return "unknown";
}

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kInt8})
    if (name == dtype_name(dtype)) return dtype;
  return std::nullopt;
}

std::unique_ptr<model::Executor> make_executor(const checkpoint::Checkpoint& checkpoint,
                                               const ExecutorOptions& options) {
  const KernelTable& kernels = select_kernel_table(options.cpu_target);
  if (!options.cpu_target.empty() && !limit_products_to(kernels.name))
    throw Error(ErrorCode::kUnsupported,
                "the CPU target cannot be changed after the first product of a process");
  if (options.dtype == Dtype::kFloat32)
    return std::make_unique<CpuExecutor<float>>(checkpoint, kernels, options);
  return std::make_unique<CpuExecutor<Bf16>>(checkpoint, kernels, options);
}

}  // namespace d3::cpu
