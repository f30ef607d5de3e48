#include "cpu/executor.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cpu/arithmetic.h"
#include "cpu/machine.h"
#include "cpu/text_model.h"
#include "cpu/vision_tower.h"

namespace d3::cpu {
namespace {

/// What multiplies weights of that dtype, where `arithmetic` is one of the three, not kAuto.
ProductType product_type(const KernelTable& kernels, Dtype dtype, Arithmetic arithmetic) {
  if (dtype == Dtype::kFloat32) return ProductType::kFloat32;
  // Where bf16 products are the fastest, oneDNN is fast in int8, too, by AMX or by VNNI.
  if (dtype == Dtype::kInt8)
    return arithmetic != Arithmetic::kBfloat16 && has_int8_products(kernels) ? ProductType::kGroupedInt8
                                                                             : ProductType::kInt8;
  switch (arithmetic) {
    case Arithmetic::kBfloat16:
      return ProductType::kBfloat16;
    case Arithmetic::kFloat16:
      return ProductType::kFloat16;
    case Arithmetic::kFloat32:
    case Arithmetic::kAuto:
      break;
  }
  return ProductType::kWidened;
}

/// With int8 the tower's products stay bf16: what they get wrong would enter every token of an image.
ProductType vision_product_type(const KernelTable& kernels, Dtype dtype, Arithmetic arithmetic) {
  return product_type(kernels, dtype == Dtype::kInt8 ? Dtype::kBfloat16 : dtype, arithmetic);
}

/// Reports a part of the loading as its share of the whole, from `first` on.
std::function<void(double)> part_of(const std::function<void(double)>& on_progress, double first,
                                    double share) {
  if (!on_progress) return {};
  return [on_progress, first, share](double done) { on_progress(first + share * done); };
}

/// T: the type of activations between products.
template <typename T>
class CpuExecutor : public model::Executor {
 public:
  CpuExecutor(const checkpoint::Checkpoint& checkpoint, std::unique_ptr<Machine> machine,
              const ExecutorOptions& options, Arithmetic arithmetic)
      : dtype_(options.dtype),
        machine_(std::move(machine)),
        text_model_(*machine_, checkpoint, product_type(machine_->kernels, options.dtype, arithmetic),
                    part_of(options.on_progress, 0, checkpoint.has_vision() ? kTextShare : 1)) {
    if (checkpoint.has_vision())
      tower_ = std::make_unique<VisionTower<T>>(
          *machine_, checkpoint, vision_product_type(machine_->kernels, options.dtype, arithmetic),
          part_of(options.on_progress, kTextShare, 1 - kTextShare));
  }

  std::vector<float> run(const model::PackedBatch& batch) override {
    use_one_thread_for_products();
    std::vector<float> logits(static_cast<size_t>(batch.question_count() * model::kAnswerCodes));
    if (!logits.empty()) text_model_.run(batch, options_, logits.data());
    return logits;
  }

  bool has_vision() const override { return tower_ != nullptr; }

  std::vector<model::MediaFeatures> encode_media(std::span<const media::Pixels* const> media) override {
    if (!tower_) return Executor::encode_media(media);
    use_one_thread_for_products();
    return tower_->encode(media);
  }

  void set_options(const model::ExecutorOptions& options) override { options_ = options; }
  model::ExecutorCounters counters() const override {
    model::ExecutorCounters counters = text_model_.counters();
    if (tower_) {
      counters.media_encoded = tower_->media_encoded();
      counters.patches = tower_->patches_encoded();
    }
    return counters;
  }
  std::vector<model::PartTime> part_times() const override { return machine_->part_clock.times(); }
  std::string dtype_name() const override { return std::string(cpu::dtype_name(dtype_)); }

 private:
  // About what the text model has of the weights that are packed (nano: 1.37 of 1.70 billion).
  static constexpr double kTextShare = 0.8;

  const Dtype dtype_;
  const std::unique_ptr<Machine> machine_;
  TextModel<T> text_model_;
  std::unique_ptr<VisionTower<T>> tower_;  // none where the checkpoint has none
  model::ExecutorOptions options_;
};

[[noreturn]] void refuse(const char* what) {
  throw Error(ErrorCode::kUnsupported,
              std::string("this CPU has no ") + what + " products; float32 and bfloat16 run on every CPU");
}

/// The arithmetic asked for, or the fastest here.
Arithmetic choose_arithmetic(Machine& machine, const ExecutorOptions& options) {
  if (options.dtype == Dtype::kFloat32) return Arithmetic::kFloat32;
  if (options.arithmetic != Arithmetic::kAuto) return options.arithmetic;
  const Bf16Rates rates = measure_bf16_rates(machine);
  if (rates.float16 > std::max(rates.bfloat16, rates.float32)) return Arithmetic::kFloat16;
  return rates.bfloat16 > rates.float32 ? Arithmetic::kBfloat16 : Arithmetic::kFloat32;
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
  const Arithmetic arithmetic = choose_arithmetic(*machine, options);
  if (options.dtype == Dtype::kInt8 &&
      product_type(kernels, options.dtype, arithmetic) == ProductType::kInt8 &&
      !int8_products_are_exact(*machine))
    refuse("exact int8");
  if (arithmetic == Arithmetic::kFloat16 && !has_float16_products(machine->kernels)) refuse("float16");
  if (arithmetic != Arithmetic::kBfloat16)
    return std::make_unique<CpuExecutor<float>>(checkpoint, std::move(machine), options, arithmetic);
  if (!machine->products.supports(ProductType::kBfloat16)) refuse("bfloat16");
  return std::make_unique<CpuExecutor<Bf16>>(checkpoint, std::move(machine), options, arithmetic);
}

}  // namespace d3::cpu
