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

/// What multiplies the text model's weights and the vision tower's.
struct Products {
  ProductType text;
  ProductType tower;
};

/// The product type of bf16 weights in `arithmetic`, which is one of the three, not kAuto.
ProductType product_type(Arithmetic arithmetic) {
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

/// Reports a part of the loading as its share of the whole, from `first` on.
std::function<void(double)> part_of(const std::function<void(double)>& on_progress, double first,
                                    double share) {
  if (!on_progress) return {};
  return [on_progress, first, share](double done) { on_progress(first + share * done); };
}

/// Whether activations between products of that type are held in bf16.
bool rounds_activations(ProductType type) {
  return type == ProductType::kBfloat16 || type == ProductType::kInt8;
}

/// TextT, TowerT: the types of activations between products.
template <typename TextT, typename TowerT>
class CpuExecutor : public model::Executor {
 public:
  CpuExecutor(const checkpoint::Checkpoint& checkpoint, std::unique_ptr<Machine> machine,
              const ExecutorOptions& options, const Products& products)
      : dtype_(options.dtype),
        machine_(std::move(machine)),
        text_model_(*machine_, checkpoint, products.text,
                    part_of(options.on_progress, 0, checkpoint.has_vision() ? kTextShare : 1)) {
    if (checkpoint.has_vision())
      tower_ = std::make_unique<VisionTower<TowerT>>(
          *machine_, checkpoint, products.tower, part_of(options.on_progress, kTextShare, 1 - kTextShare));
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
  TextModel<TextT> text_model_;
  std::unique_ptr<VisionTower<TowerT>> tower_;  // none where the checkpoint has none
  model::ExecutorOptions options_;
};

[[noreturn]] void refuse(const char* what) {
  throw Error(ErrorCode::kUnsupported,
              std::string("this CPU has no ") + what + " products; float32 and bfloat16 run on every CPU");
}

/// The arithmetic asked for, or the fastest here.
Arithmetic choose_arithmetic(Machine& machine, const ExecutorOptions& options) {
  if (options.arithmetic != Arithmetic::kAuto) return options.arithmetic;
  const Bf16Rates rates = measure_bf16_rates(machine);
  if (rates.float16 > std::max(rates.bfloat16, rates.float32)) return Arithmetic::kFloat16;
  return rates.bfloat16 > rates.float32 ? Arithmetic::kBfloat16 : Arithmetic::kFloat32;
}

/// One scale a channel and a row costs accuracy: it is taken only where it gains much, as AMX does.
ProductType choose_int8(Machine& machine) {
  const Int8Rates rates = measure_int8_rates(machine);
  if (rates.grouped == 0 && rates.one_scale == 0) refuse("exact int8");
  return rates.one_scale > 2 * rates.grouped ? ProductType::kInt8 : ProductType::kGroupedInt8;
}

/// With int8 the tower's products stay those of bf16: what int8 gets wrong would enter every token of an
/// image.
Products choose_products(Machine& machine, const ExecutorOptions& options) {
  if (options.dtype == Dtype::kFloat32) return {ProductType::kFloat32, ProductType::kFloat32};
  const Arithmetic arithmetic = choose_arithmetic(machine, options);
  if (arithmetic == Arithmetic::kFloat16 && !has_float16_products(machine.kernels)) refuse("float16");
  if (arithmetic == Arithmetic::kBfloat16 && !machine.products.supports(ProductType::kBfloat16))
    refuse("bfloat16");
  const ProductType bf16 = product_type(arithmetic);
  return {options.dtype == Dtype::kInt8 ? choose_int8(machine) : bf16, bf16};
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
  const Products products = choose_products(*machine, options);
  const bool bf16_text = rounds_activations(products.text);
  const bool bf16_tower = rounds_activations(products.tower);
  if (bf16_text && bf16_tower)
    return std::make_unique<CpuExecutor<Bf16, Bf16>>(checkpoint, std::move(machine), options, products);
  if (bf16_text)
    return std::make_unique<CpuExecutor<Bf16, float>>(checkpoint, std::move(machine), options, products);
  if (bf16_tower)
    return std::make_unique<CpuExecutor<float, Bf16>>(checkpoint, std::move(machine), options, products);
  return std::make_unique<CpuExecutor<float, float>>(checkpoint, std::move(machine), options, products);
}

}  // namespace d3::cpu
