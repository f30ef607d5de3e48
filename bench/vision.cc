// Times the vision tower on this machine: seconds an image, GFLOP/s and the ratio to the rate at which oneDNN
// alone, with its own threads, multiplies the tower's matrices. Products and images alternate, so that both
// see the same machine; every figure is a median.
//
//   vision CHECKPOINT [--dtype bfloat16] [--arithmetic auto] [--threads 2] [--height 1280] [--width 1280]
//          [--rounds 3] [--no-products] [--interactive]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "checkpoint/checkpoint.h"
#include "cpu/executor.h"
#include "speed/product_rate.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Multiplications and additions of the products of one image; attention's own are `attention`.
struct Work {
  double products = 0;
  double attention = 0;
};

Work work_of(const d3::checkpoint::VisionConfig& config, double patches) {
  const double hidden = config.hidden_size;
  const double block = 4 * hidden * hidden + 2 * hidden * config.intermediate_size;
  const double merger = 4 * hidden * (4 * hidden + config.out_hidden_size);
  return {.products = 2 * patches * (1536 * hidden + config.depth * block + merger / 4),
          .attention = 4 * patches * patches * hidden * config.depth};
}

d3::media::Pixels random_image(int height, int width) {
  std::mt19937 random(1);
  d3::media::Pixels image;
  image.frames = 1;
  image.height = height;
  image.width = width;
  image.rgb.resize(static_cast<size_t>(height) * static_cast<size_t>(width) * 3);
  for (uint8_t& value : image.rgb) value = static_cast<uint8_t>(random());
  return image;
}

double encode(d3::model::Executor& executor, const d3::media::Pixels& image) {
  const d3::media::Pixels* const one = &image;
  const auto start = Clock::now();
  executor.encode_media(std::span(&one, 1));
  return seconds_since(start);
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  std::string dtype = "bfloat16";
  std::string arithmetic = "auto";
  int threads = 0;
  int height = 1280;
  int width = 1280;
  int rounds = 3;
  bool no_products = false;
  bool interactive = false;
  CLI::App app{"Times the vision tower against the machine's own product rate."};
  app.add_option("checkpoint", directory)->required();
  app.add_option("--dtype", dtype)->check(CLI::IsMember({"float32", "bfloat16", "int8"}));
  app.add_option("--arithmetic", arithmetic)
      ->check(CLI::IsMember({"auto", "bfloat16", "float16", "float32"}));
  app.add_option("--threads", threads);
  app.add_option("--height", height);
  app.add_option("--width", width);
  app.add_option("--rounds", rounds);
  app.add_flag("--no-products", no_products, "time the tower alone");
  app.add_flag("--interactive", interactive,
               "encode one image for each height and width from standard input");
  CLI11_PARSE(app, argc, argv);

  const auto checkpoint =
      d3::checkpoint::Checkpoint::open(std::filesystem::path(directory), d3::checkpoint::Verify::kNone);
  d3::cpu::ExecutorOptions options;
  options.dtype = *d3::cpu::dtype_from_name(dtype);
  options.threads = threads;
  if (arithmetic == "float32") options.arithmetic = d3::cpu::Arithmetic::kFloat32;
  if (arithmetic == "float16") options.arithmetic = d3::cpu::Arithmetic::kFloat16;
  if (arithmetic == "bfloat16") options.arithmetic = d3::cpu::Arithmetic::kBfloat16;
  const auto packing = Clock::now();
  const auto executor = d3::cpu::make_executor(checkpoint, options);
  std::printf("pack %.3f s, %s\n", seconds_since(packing), dtype.c_str());
  if (interactive) {
    while (std::cin >> height >> width) {
      std::printf("image %.6f s\n", encode(*executor, random_image(height, width)));
      std::fflush(stdout);
    }
    return 0;
  }

  const auto& config = *checkpoint.config().vision;
  const auto image = random_image(height, width);
  const int patches = height / 16 * (width / 16);
  const Work work = work_of(config, patches);
  d3::speed::ProductRate products(d3::speed::vision_products(config), options.dtype, threads);
  encode(*executor, random_image(64, 64));  // touches the weights
  std::vector<double> passes;
  std::vector<double> rates;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    passes.push_back(encode(*executor, image));
    if (no_products) continue;
    rates.push_back(products.flops_per_second(512));
    ratios.push_back((work.products + work.attention) / passes.back() / rates.back());
  }
  const double seconds = median(passes);
  std::printf("%d patches  %.3f s  %.1f GFLOP/s (attention's products are %.0f %% of them)", patches, seconds,
              (work.products + work.attention) / seconds / 1e9,
              100 * work.attention / (work.products + work.attention));
  if (!no_products) std::printf("  products %.1f GFLOP/s  ratio %.3f", median(rates) / 1e9, median(ratios));
  std::printf("\n");
  return 0;
}
