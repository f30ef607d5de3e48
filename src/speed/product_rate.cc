#include "speed/product_rate.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <dnnl.hpp>

#include "base/thread_pool.h"
#include "cpu/matmul.h"

extern "C" void omp_set_num_threads(int threads);  // see src/cpu/matmul.cc

namespace d3::speed {
namespace {

using dnnl::memory;

/// Types of the two sides and of the result.
struct Types {
  memory::data_type left, right, out;
};

Types types_of(cpu::Dtype dtype) {
  using type = memory::data_type;
  switch (dtype) {
    case cpu::Dtype::kBfloat16:
      return {type::bf16, type::bf16, type::bf16};
    case cpu::Dtype::kInt8:
      return {type::u8, type::s8, type::s32};
    case cpu::Dtype::kFloat32:
      break;
  }
  return {type::f32, type::f32, type::f32};
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const Types& types, int rows,
                                      const ProductShape& shape, const memory::desc* weights) {
  const auto [k, n] = shape;
  const memory::desc a({rows, k}, types.left, memory::format_tag::ab);
  const memory::desc c({rows, n}, types.out, memory::format_tag::ab);
  const memory::desc any({k, n}, types.right, memory::format_tag::any);
  return {dnnl::matmul::desc(a, weights ? *weights : any, c), engine};
}

struct Product {
  dnnl::matmul primitive;
  memory a, b, c;
  double operations = 0;
};

/// Random bytes that are small finite numbers in every type: bf16 and fp32 values between 1/2 and 2.
void fill(memory& target, memory::data_type type) {
  std::mt19937 random(1);
  const size_t bytes = target.get_desc().get_size();
  auto* data = static_cast<uint8_t*>(target.get_data_handle());
  if (type == memory::data_type::u8 || type == memory::data_type::s8) {
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(random());
    return;
  }
  auto* halves = reinterpret_cast<uint16_t*>(data);
  for (size_t i = 0; i < bytes / 2; ++i) halves[i] = static_cast<uint16_t>(0x3F00U | (random() & 0x80FFU));
}

}  // namespace

struct ProductRate::Impl {
  std::vector<ProductShape> shapes;
  cpu::Dtype dtype = cpu::Dtype::kFloat32;
  int threads = 1;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<int, std::vector<Product>> by_rows;
  std::vector<memory> weights;

  void prepare(int rows) {
    std::vector<Product>& products = by_rows[rows];
    const Types types = types_of(dtype);
    for (size_t i = 0; i < shapes.size(); ++i) {
      const bool first = weights.size() <= i;
      const memory::desc layout = first ? memory::desc() : weights[i].get_desc();
      const auto description = describe(engine, types, rows, shapes[i], first ? nullptr : &layout);
      Product product{.primitive = dnnl::matmul(description),
                      .a = memory(description.src_desc(), engine),
                      .b = {},
                      .c = memory(description.dst_desc(), engine),
                      .operations = 2.0 * rows * shapes[i].first * shapes[i].second};
      fill(product.a, types.left);
      if (first) {
        weights.emplace_back(description.weights_desc(), engine);
        fill(weights.back(), types.right);
      }
      product.b = weights[i];
      products.push_back(product);
    }
  }
};

std::vector<ProductShape> text_products(const checkpoint::TextConfig& config) {
  const int value = config.linear_num_value_heads * config.linear_value_head_dim;
  const int key = config.linear_num_key_heads * config.linear_key_head_dim;
  return {{config.hidden_size, 2 * key + 2 * value},
          {value, config.hidden_size},
          {config.hidden_size, 2 * config.intermediate_size},
          {config.intermediate_size, config.hidden_size}};
}

std::vector<ProductShape> vision_products(const checkpoint::VisionConfig& config) {
  return {{config.hidden_size, 3 * config.hidden_size},
          {config.hidden_size, config.hidden_size},
          {config.hidden_size, config.intermediate_size},
          {config.intermediate_size, config.hidden_size}};
}

ProductRate::ProductRate(std::vector<ProductShape> shapes, cpu::Dtype dtype, int threads)
    : impl_(std::make_unique<Impl>()) {
  const bool lacking =
      dtype == cpu::Dtype::kBfloat16 && !cpu::MatmulCache(1).supports(cpu::ProductType::kBfloat16);
  impl_->dtype = lacking ? cpu::Dtype::kFloat32 : dtype;
  impl_->threads = threads > 0 ? threads : available_cpus();
  impl_->shapes = std::move(shapes);
}

ProductRate::~ProductRate() = default;

cpu::Dtype ProductRate::dtype() const { return impl_->dtype; }

double ProductRate::flops_per_second(int rows) {
  omp_set_num_threads(impl_->threads);
  if (!impl_->by_rows.contains(rows)) {
    impl_->prepare(rows);
    flops_per_second(rows);  // once without the clock: code is generated, pages are touched
  }
  double operations = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const Product& product : impl_->by_rows[rows]) {
    product.primitive.execute(
        impl_->stream, {{DNNL_ARG_SRC, product.a}, {DNNL_ARG_WEIGHTS, product.b}, {DNNL_ARG_DST, product.c}});
    operations += product.operations;
  }
  impl_->stream.wait();
  return operations / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace d3::speed
