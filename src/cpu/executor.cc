#include "cpu/executor.h"

#include <type_traits>
#include <utility>

#include "base/error.h"
#include "cpu/arithmetic.h"
#include "cpu/machine.h"
#include "cpu/text_model.h"

namespace d3::cpu {
namespace {

/// T: the type of activations between products.
template <typename T>
ProductType product_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return ProductType::kFloat32;
    case Dtype::kBfloat16:
      return std::is_same_v<T, float> ? ProductType::kWidened : ProductType::kBfloat16;
    case Dtype::kInt8:
      return ProductType::kInt8;
  }
  return ProductType::kFloat32;
}

template <typename T>
class CpuExecutor : public model::Executor {
 public:
  CpuExecutor(const checkpoint::Checkpoint& checkpoint, std::unique_ptr<Machine> machine,
              const ExecutorOptions& options)
      : dtype_(options.dtype),
        machine_(std::move(machine)),
        text_model_(*machine_, checkpoint, product_type<T>(options.dtype), options.on_progress) {}

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
  const Dtype dtype_;
  const std::unique_ptr<Machine> machine_;
  TextModel<T> text_model_;
  model::ExecutorOptions options_;
};

[[noreturn]] void refuse(const char* what) {
  throw Error(ErrorCode::kUnsupported,
              std::string("this CPU has no ") + what + " products; float32 and bfloat16 run on every CPU");
}

/// Whether activations are rounded to bf16 between products.
bool rounds_activations(Machine& machine, const ExecutorOptions& options) {
  if (options.dtype == Dtype::kFloat32 || options.arithmetic == Arithmetic::kFloat32) return false;
  if (options.arithmetic == Arithmetic::kBfloat16) return true;
  // Beside int8 only attention multiplies activations: too little to choose by.
  if (options.dtype == Dtype::kInt8) return machine.products.supports(ProductType::kBfloat16);
  const Bf16Rates rates = measure_bf16_rates(machine);
  return rates.bfloat16 > rates.float32;
}

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
  auto machine = std::make_unique<Machine>(kernels, options.threads);
  use_one_thread_for_products();
  if (options.dtype == Dtype::kInt8 && !int8_products_are_exact(*machine)) refuse("exact int8");
  if (!rounds_activations(*machine, options))
    return std::make_unique<CpuExecutor<float>>(checkpoint, std::move(machine), options);
  if (!machine->products.supports(ProductType::kBfloat16)) refuse("bfloat16");
  return std::make_unique<CpuExecutor<Bf16>>(checkpoint, std::move(machine), options);
}

}  // namespace d3::cpu
