#include "cli/bench_command.h"

#include <algorithm>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/thread_pool.h"
#include "speed/forward_speed.h"
#include "speed/report.h"

namespace d3::cli {
namespace {

// What dtypes and thread counts are compared at: a prompt of a usual length.
constexpr int kMeasureTokens = 512;

std::string advice(const std::string& model, std::string_view dtype, int threads) {
  return fmt::format("  d3 serve {} --dtype {} --threads {}\n", model, dtype, threads);
}

}  // namespace

CLI::App* BenchCommand::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bench", "Time a model on this machine; tells which --dtype and --threads to choose");
  model_.add_to(*command);
  command->add_option("--dtype", dtypes_, "Arithmetics to time, with commas between them")
      ->type_name("bfloat16,int8,float32")
      ->delimiter(',')
      ->check(CLI::IsMember({"bfloat16", "float32", "int8"}).description(""))
      ->capture_default_str();
  command->add_option("--tokens", lengths_, "Prompt lengths to time, with commas between them")
      ->type_name("N,N,...")
      ->delimiter(',')
      ->check(CLI::Range(1, 32768).description(""))
      ->capture_default_str();
  command
      ->add_option("--threads", threads_, "Threads that compute; 0: every CPU, and half of them to compare")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""))
      ->capture_default_str();
  command->add_option("--rounds", rounds_, "Passes of each; times are medians")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""))
      ->capture_default_str();
  return command;
}

BenchCommand::Result BenchCommand::run_dtype(const checkpoint::Checkpoint& checkpoint,
                                             const cpu::ExecutorOptions& options,
                                             const Context& context) const {
  speed::ForwardSpeed speed(checkpoint, options);
  context.out.print(fmt::format("\n{}, {} threads, loaded in {:.2f} s; products in {}\n{}",
                                cpu::dtype_name(options.dtype), options.threads, speed.load_seconds(),
                                cpu::dtype_name(speed.product_dtype()), speed::pass_header()));
  const auto show = [&](const std::string& name, const speed::PassSpeed& pass) {
    context.out.print(speed::pass_line(name, pass));
    context.out.flush();
  };
  for (const int tokens : lengths_) show(std::to_string(tokens), speed.single(tokens, {.count = rounds_}));
  const std::vector<int> lengths = speed::mixed_lengths();
  show("64 x 60..200", speed.packed(lengths, {.count = rounds_}));
  const speed::PassSpeed pass = speed.single(kMeasureTokens, {.count = rounds_, .products = false});
  context.out.print(
      fmt::format("  where the time goes at {} tokens\n{}", kMeasureTokens, speed::parts_table(pass)));
  context.out.flush();
  return {options.dtype, options.threads, static_cast<double>(pass.tokens) / pass.seconds};
}

BenchCommand::Result BenchCommand::try_threads(const checkpoint::Checkpoint& checkpoint,
                                               cpu::ExecutorOptions options, Result best,
                                               const Context& context) const {
  options.threads = std::max(1, best.threads / 2);
  if (options.threads == best.threads) return best;
  speed::ForwardSpeed speed(checkpoint, options);
  const speed::PassSpeed pass = speed.single(kMeasureTokens, {.count = rounds_, .products = false});
  const double rate = static_cast<double>(pass.tokens) / pass.seconds;
  context.out.print(fmt::format("\n{} with {} threads: {:.1f} tokens/s at {} tokens, with {}: {:.1f}\n",
                                cpu::dtype_name(options.dtype), options.threads, rate, kMeasureTokens,
                                best.threads, best.tokens_per_second));
  return rate > best.tokens_per_second ? Result{best.dtype, options.threads, rate} : best;
}

int BenchCommand::run(const Context& context) {
  const auto checkpoint = checkpoint::Checkpoint::open(model_.folder(context), checkpoint::Verify::kFast);
  cpu::ExecutorOptions options;
  options.cpu_target = context.cpu_target;
  options.threads = threads_ > 0 ? threads_ : available_cpus();
  context.out.print(
      "Random prompts of that many tokens, one at a time, and a batch of 64. GFLOP/s: the products of the "
      "pass; products:\n"
      "the rate of oneDNN alone on the same matrices, between the passes (of float32 where it has no "
      "bfloat16); ratio: the\nfirst over the second.\n");
  std::vector<Result> results;
  for (const std::string& name : dtypes_) {
    options.dtype = *cpu::dtype_from_name(name);
    try {
      results.push_back(run_dtype(checkpoint, options, context));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      context.out.print(fmt::format("\n{}: {}\n", name, error.what()));
    }
  }
  if (results.empty()) return kFailure;
  Result& first = results.front();
  if (threads_ == 0) {
    options.dtype = first.dtype;
    first = try_threads(checkpoint, options, first, context);
  }
  std::string text = "\nRecommended:\n" + advice(model_.text(), cpu::dtype_name(first.dtype), first.threads);
  for (const Result& result : results)
    if (result.dtype == cpu::Dtype::kInt8 && result.tokens_per_second > first.tokens_per_second)
      text += fmt::format("or, {:.1f} times as fast and less exact:\n",
                          result.tokens_per_second / first.tokens_per_second) +
              advice(model_.text(), "int8", first.threads);
  context.out.print(text);
  return kSuccess;
}

}  // namespace d3::cli
