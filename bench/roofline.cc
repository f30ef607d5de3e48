// The forward pass on this machine against its roofline, the rate at which oneDNN alone multiplies the same
// matrices with its own threads: tokens/s, GFLOP/s, their ratio and where the time goes. `d3 bench` prints
// the same for users; this program adds what a developer turns.
//
//   roofline CHECKPOINT [--dtype bfloat16] [--arithmetic auto] [--threads 2] [--tokens 64,128,..] [--rounds
//   5]
//   [--no-products] [--interactive]
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "checkpoint/checkpoint.h"
#include "cpu/executor.h"
#include "speed/forward_speed.h"
#include "speed/report.h"

namespace {

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

d3::cpu::Arithmetic arithmetic_from(const std::string& name) {
  if (name == "float32") return d3::cpu::Arithmetic::kFloat32;
  if (name == "float16") return d3::cpu::Arithmetic::kFloat16;
  return name == "bfloat16" ? d3::cpu::Arithmetic::kBfloat16 : d3::cpu::Arithmetic::kAuto;
}

}  // namespace

int main(int argc, char** argv) {
  std::string directory;
  std::string dtype = "bfloat16";
  std::string arithmetic = "auto";
  std::vector<int> lengths = {64, 128, 256, 512, 1024, 4096, 8192};
  int threads = 0;
  int rounds = 5;
  bool no_products = false;
  bool interactive = false;
  CLI::App app{"Times the forward pass against the machine's own product rate."};
  app.add_option("checkpoint", directory)->required();
  app.add_option("--dtype", dtype)->check(CLI::IsMember({"float32", "bfloat16", "int8"}));
  app.add_option("--arithmetic", arithmetic)
      ->check(CLI::IsMember({"auto", "bfloat16", "float16", "float32"}));
  app.add_option("--threads", threads);
  app.add_option("--tokens", lengths)->delimiter(',');
  app.add_option("--rounds", rounds);
  app.add_flag("--no-products", no_products, "time the forward pass alone");
  app.add_flag("--interactive", interactive, "run one pass for each token count read from standard input");
  CLI11_PARSE(app, argc, argv);

  const auto checkpoint =
      d3::checkpoint::Checkpoint::open(std::filesystem::path(directory), d3::checkpoint::Verify::kNone);
  d3::cpu::ExecutorOptions options;
  options.dtype = *d3::cpu::dtype_from_name(dtype);
  options.threads = threads;
  options.arithmetic = arithmetic_from(arithmetic);
  d3::speed::ForwardSpeed speed(checkpoint, options);
  if (interactive) {
    for (int tokens = 0; std::cin >> tokens;)
      print("pass " +
            std::to_string(speed.single(tokens, {.count = 1, .warm_up = false, .products = false}).seconds) +
            " s\n");
    return 0;
  }
  std::printf("%s, loaded in %.3f s; products in %s\n", dtype.c_str(), speed.load_seconds(),
              std::string(d3::cpu::dtype_name(speed.product_dtype())).c_str());
  print(d3::speed::pass_header());
  for (const int tokens : lengths) {
    const d3::speed::PassSpeed pass = speed.single(tokens, {.count = rounds, .products = !no_products});
    print(d3::speed::pass_line(std::to_string(tokens), pass) + d3::speed::parts_table(pass));
  }
  const d3::speed::PassSpeed mixed =
      speed.packed(d3::speed::mixed_lengths(), {.count = rounds, .products = !no_products});
  print(d3::speed::pass_line("64 x 60..200", mixed) + d3::speed::parts_table(mixed));
  print("a state of 600 tokens, 8 questions of 40\n" +
        d3::speed::saving_line(speed.shared_state(600, 8, 40, rounds)));
  return 0;
}
