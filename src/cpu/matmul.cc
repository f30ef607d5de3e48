#include "cpu/matmul.h"

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

#include "base/error.h"

// OpenMP's own function, declared here because oneDNN is always linked with GNU's runtime (libgomp) while
// <omp.h> would be the compiler's.
extern "C" void omp_set_num_threads(int threads);

namespace d3::cpu {
namespace {

using dnnl::memory;

// Any row count gives the same packed layout (checked when a primitive is made); this one stands for all.
constexpr int kLayoutRows = 128;

memory::data_type left_type(ProductType type) {
  switch (type) {
    case ProductType::kFloat32:
      return memory::data_type::f32;
    case ProductType::kBfloat16:
      return memory::data_type::bf16;
    case ProductType::kInt8:
      return memory::data_type::u8;
    case ProductType::kWidened:
    case ProductType::kFloat16:
    case ProductType::kGroupedInt8:
      break;
  }
  return memory::data_type::undef;
}

memory::data_type right_type(ProductType type) {
  return type == ProductType::kInt8 ? memory::data_type::s8 : left_type(type);
}

memory::data_type out_type(ProductType type) {
  return type == ProductType::kInt8 ? memory::data_type::s32 : memory::data_type::f32;
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const MatmulShape& shape,
                                      const memory::desc& weights) {
  const memory::desc a({shape.m, shape.k}, left_type(shape.type), memory::format_tag::ab);
  const memory::desc c({shape.m, shape.n}, out_type(shape.type), memory::format_tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.accumulate) {
    dnnl::post_ops post_ops;
    post_ops.append_sum(1.0F);
    attributes.set_post_ops(post_ops);
  }
  return {dnnl::matmul::desc(a, weights, c), attributes, engine};
}

}  // namespace

size_t weight_size(ProductType type) {
  switch (type) {
    case ProductType::kFloat32:
      return 4;
    case ProductType::kBfloat16:
    case ProductType::kWidened:
    case ProductType::kFloat16:
      return 2;
    case ProductType::kInt8:
    case ProductType::kGroupedInt8:
      return 1;
  }
  return 0;
}

struct Matmul::Impl {
  // The memory objects of one worker: handles are set before each run, so no two workers may share them.
  struct Arguments {
    dnnl::stream stream;
    memory a, b, c;
    std::vector<std::byte> scratchpad;
    std::unordered_map<int, memory> map;
  };
  dnnl::matmul primitive;
  mutable std::vector<Arguments> workers;
};

Matmul::Matmul(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Matmul::~Matmul() = default;

void Matmul::run(int worker, const void* a, const void* packed_b, void* c) const {
  Impl::Arguments& arguments = impl_->workers[static_cast<size_t>(worker)];
  // oneDNN takes inputs through the same mutable handle as outputs and does not write to them.
  arguments.a.set_data_handle(const_cast<void*>(a));
  arguments.b.set_data_handle(const_cast<void*>(packed_b));
  arguments.c.set_data_handle(c);
  impl_->primitive.execute(arguments.stream, arguments.map);
}

struct MatmulCache::Impl {
  using LayoutKey = std::tuple<ProductType, int, int>;
  int workers = 1;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  std::map<MatmulShape, std::unique_ptr<Matmul>> products;
  std::map<LayoutKey, memory::desc> layouts;
  std::map<std::tuple<ProductType, int, int, bool, int64_t>, dnnl::reorder> reorders;
  std::mutex mutex;  // packing may run on several workers

  const memory::desc& layout(ProductType type, int k, int n) {
    const LayoutKey key{type, k, n};
    if (const auto at = layouts.find(key); at != layouts.end()) return at->second;
    const memory::desc any({k, n}, right_type(type), memory::format_tag::any);
    // Described first: a product this CPU does not have must leave no empty layout behind.
    const memory::desc packed = describe(engine, {type, kLayoutRows, k, n, false}, any).weights_desc();
    return layouts.emplace(key, packed).first->second;
  }
};

MatmulCache::MatmulCache(int workers) : impl_(std::make_unique<Impl>()) { impl_->workers = workers; }
MatmulCache::~MatmulCache() = default;

const Matmul& MatmulCache::get(const MatmulShape& shape) {
  std::unique_ptr<Matmul>& product = impl_->products[shape];
  if (product) return *product;
  const auto description = describe(impl_->engine, shape, impl_->layout(shape.type, shape.k, shape.n));
  auto made = std::make_unique<Matmul::Impl>();
  made->primitive = dnnl::matmul(description);
  made->workers.resize(static_cast<size_t>(impl_->workers));
  for (Matmul::Impl::Arguments& arguments : made->workers) {
    arguments.stream = dnnl::stream(impl_->engine);
    arguments.a = memory(description.src_desc(), impl_->engine, nullptr);
    arguments.b = memory(description.weights_desc(), impl_->engine, nullptr);
    arguments.c = memory(description.dst_desc(), impl_->engine, nullptr);
    arguments.scratchpad.resize(description.scratchpad_desc().get_size());
    const memory scratchpad(description.scratchpad_desc(), impl_->engine, arguments.scratchpad.data());
    arguments.map = {{DNNL_ARG_SRC, arguments.a},
                     {DNNL_ARG_WEIGHTS, arguments.b},
                     {DNNL_ARG_DST, arguments.c},
                     {DNNL_ARG_SCRATCHPAD, scratchpad}};
  }
  product = std::unique_ptr<Matmul>(new Matmul(std::move(made)));
  return *product;
}

const Matmul& MatmulCache::find(const MatmulShape& shape) const {
  const auto at = impl_->products.find(shape);
  if (at == impl_->products.end()) throw Error(ErrorCode::kInternal, "a product was used before it was made");
  return *at->second;
}

bool MatmulCache::supports(ProductType type) {
  constexpr int kAnySize = 64;
  try {
    impl_->layout(type, kAnySize, kAnySize);
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw;
    return false;
  }
  return true;
}

int MatmulCache::bucket_rows(int rows) {
  for (const int bucket : {8, 16, 32, 48, 64, 80, 96, 112})
    if (rows <= bucket) return bucket;
  return (rows + 63) / 64 * 64;
}

size_t MatmulCache::packed_bytes(ProductType type, int k, int n) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->layout(type, k, n).get_size();
}

void MatmulCache::pack(ProductType type, int k, int n, bool transposed, int64_t ldb, const void* b,
                       void* packed) {
  dnnl::reorder reorder;
  memory::desc from({k, n}, right_type(type), transposed ? memory::dims{1, ldb} : memory::dims{ldb, 1});
  memory::desc to;
  {
    const std::lock_guard lock(impl_->mutex);
    to = impl_->layout(type, k, n);
    const auto [at, added] = impl_->reorders.try_emplace({type, k, n, transposed, ldb});
    if (added)
      at->second = dnnl::reorder(dnnl::reorder::primitive_desc(impl_->engine, from, impl_->engine, to));
    reorder = at->second;
  }
  dnnl::stream stream(impl_->engine);
  memory source(from, impl_->engine, const_cast<void*>(b));
  memory target(to, impl_->engine, packed);
  reorder.execute(stream, source, target);
  stream.wait();
}

void use_one_thread_for_products() { omp_set_num_threads(1); }

bool limit_products_to(const char* target) {
  const std::string_view name(target);
  auto isa = dnnl::cpu_isa::all;
  if (name == "avx2") isa = dnnl::cpu_isa::avx2;
  if (name == "baseline") isa = dnnl::cpu_isa::sse41;
  return dnnl::set_max_cpu_isa(isa) == dnnl::status::success || dnnl::get_effective_cpu_isa() == isa;
}

}  // namespace d3::cpu
