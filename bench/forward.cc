// Times the forward pass on this machine: tokens/s, GFLOP/s and the ratio to the rate at which oneDNN alone,
// with its own threads, multiplies the same matrices. Products and passes alternate, so that both see the
// same machine; every figure is a median.
//
//   forward CHECKPOINT [--dtype bfloat16] [--threads 2] [--tokens 64,128,256,512,1024] [--rounds 5]
//   [--no-products]
//           [--interactive]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/product_rate.h"
#include "checkpoint/checkpoint.h"
#include "cpu/executor.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Multiplications and additions of the matrix products of one question: every layer's, less what the last
/// layer does not need, and attention's own.
struct Work {
  double products = 0;
  double attention = 0;
};

Work work_of(const d3::checkpoint::TextConfig& config, bool causal, double tokens) {
  Work work;
  const double hidden = config.hidden_size;
  const double mlp = 3.0 * hidden * config.intermediate_size;
  const double heads = static_cast<double>(config.num_attention_heads) * config.head_dim;
  const double kv = static_cast<double>(config.num_key_value_heads) * config.head_dim;
  const double value = static_cast<double>(config.linear_num_value_heads) * config.linear_value_head_dim;
  const double key = static_cast<double>(config.linear_num_key_heads) * config.linear_key_head_dim;
  for (size_t i = 0; i < config.layer_types.size(); ++i) {
    const bool full = config.layer_types[i] == d3::checkpoint::LayerType::kFullAttention;
    const bool last = i + 1 == config.layer_types.size();
    const double always =
        full ? 2 * kv * hidden : (2 * key + value + 2 * config.linear_num_value_heads) * hidden;
    const double for_output = (full ? 3 * heads * hidden : 2 * value * hidden) + mlp;
    work.products += 2 * (always * tokens + for_output * (last ? 1 : tokens));
    if (full) work.attention += 4 * heads * tokens * (last ? 1 : tokens) * (causal && !last ? 0.5 : 1);
  }
  return work;
}

std::vector<int32_t> random_ids(int tokens, int vocab_size) {
  std::mt19937 random(1);
  std::vector<int32_t> ids(static_cast<size_t>(tokens));
  for (int32_t& id : ids) id = std::uniform_int_distribution<int32_t>(0, vocab_size / 2)(random);
  return ids;
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  std::string dtype = "bfloat16";
  std::vector<int> lengths = {64, 128, 256, 512, 1024};
  std::string arithmetic = "auto";
  int threads = 0;
  int rounds = 5;
  bool no_products = false;
  bool interactive = false;
  CLI::App app{"Times the forward pass against the machine's own product rate."};
  app.add_option("checkpoint", directory)->required();
  app.add_option("--dtype", dtype)->check(CLI::IsMember({"float32", "bfloat16", "int8"}));
  app.add_option("--arithmetic", arithmetic)->check(CLI::IsMember({"auto", "bfloat16", "float32"}));
  app.add_option("--threads", threads);
  app.add_option("--tokens", lengths)->delimiter(',');
  app.add_option("--rounds", rounds);
  app.add_flag("--no-products", no_products, "time the forward pass alone");
  app.add_flag("--interactive", interactive, "run one pass for each token count read from standard input");
  CLI11_PARSE(app, argc, argv);

  const auto start = Clock::now();
  const auto checkpoint = d3::checkpoint::Checkpoint::open(directory, d3::checkpoint::Verify::kNone);
  std::printf("open %.3f s\n", seconds_since(start));
  const auto packing = Clock::now();
  d3::cpu::ExecutorOptions options;
  options.dtype = *d3::cpu::dtype_from_name(dtype);
  options.threads = threads;
  if (arithmetic != "auto")
    options.arithmetic =
        arithmetic == "float32" ? d3::cpu::Arithmetic::kFloat32 : d3::cpu::Arithmetic::kBfloat16;
  const auto executor = d3::cpu::make_executor(checkpoint, options);
  std::printf("pack %.3f s, %s\n", seconds_since(packing), dtype.c_str());

  const auto& config = checkpoint.config().text;
  if (interactive) {
    for (int tokens = 0; std::cin >> tokens;) {
      const auto ids = random_ids(tokens, config.vocab_size);
      const auto pass = Clock::now();
      executor->run({{{{}, {ids}}}});
      std::printf("pass %.6f s\n", seconds_since(pass));
      std::fflush(stdout);
    }
    return 0;
  }
  d3::bench::ProductRate products(d3::bench::text_products(config), options.dtype, threads);
  for (const int tokens : lengths) {
    const auto ids = random_ids(tokens, config.vocab_size);
    const d3::model::PackedBatch batch{{{{}, {ids}}}};
    executor->run(batch);
    std::vector<double> passes;
    std::vector<double> rates;
    std::vector<double> ratios;
    const bool causal = checkpoint.decision().attention_mode == d3::checkpoint::AttentionMode::kCausal;
    const Work work = work_of(config, causal, tokens);
    for (int round = 0; round < rounds; ++round) {
      const auto pass = Clock::now();
      executor->run(batch);
      passes.push_back(seconds_since(pass));
      if (no_products) continue;
      rates.push_back(products.flops_per_second(tokens));
      ratios.push_back((work.products + work.attention) / passes.back() / rates.back());
    }
    const double seconds = median(passes);
    std::printf("T %5d  %8.1f ms  %7.1f tokens/s  %6.1f GFLOP/s", tokens, seconds * 1e3, tokens / seconds,
                (work.products + work.attention) / seconds / 1e9);
    if (!no_products)
      std::printf("  products %6.1f GFLOP/s  ratio %.3f", median(rates) / 1e9, median(ratios));
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
