// Compares a checkpoint's answers with the reference's golden ones, question by question, and prints the
// figures.
//
//   golden_parity CHECKPOINT GOLDEN.jsonl [--dtype bfloat16] [--threads 2]
//
// The golden file holds token ids (as golden-tiny.jsonl and golden-nano.jsonl do). Exit status 0: within the
// rule for that format; int8's rule is three times the reference's own bfloat16 error in the median and the
// 95th percentile.
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "checkpoint/checkpoint.h"
#include "cpu/executor.h"
#include "support/golden.h"
#include "support/golden_answers.h"

int main(int argc, char** argv) {
  std::string directory;
  std::string golden_path;
  std::string dtype = "bfloat16";
  int threads = 0;
  CLI::App app{"Compares answers with golden ones."};
  app.add_option("checkpoint", directory)->required();
  app.add_option("golden", golden_path)->required();
  app.add_option("--dtype", dtype)->check(CLI::IsMember({"float32", "bfloat16", "int8"}));
  app.add_option("--threads", threads);
  CLI11_PARSE(app, argc, argv);

  auto golden = d3::test::read_golden(golden_path);
  std::erase_if(golden,
                [](const auto& question) { return question.has_media() || question.input_ids.empty(); });
  const auto checkpoint = d3::checkpoint::Checkpoint::open(std::filesystem::path(directory));
  d3::cpu::ExecutorOptions options;
  options.dtype = *d3::cpu::dtype_from_name(dtype);
  options.threads = threads;
  const auto executor = d3::cpu::make_executor(checkpoint, options);
  std::vector<std::vector<double>> probabilities;
  for (const auto& question : golden) {
    probabilities.push_back(
        d3::test::golden_probabilities(*executor, checkpoint.decision().temperature, question));
    std::fprintf(stderr, "\r%zu of %zu", probabilities.size(), golden.size());
  }
  const d3::test::ParityReport report = d3::test::compare(golden, probabilities);
  std::printf("\n%s: %s\n", dtype.c_str(), report.text().c_str());
  bool equal = report.bfloat16_equal();
  if (dtype == "float32") equal = report.float32_equal();
  if (dtype == "int8") {
    equal = report.ours.median <= 3 * report.reference.median && report.ours.p95 <= 3 * report.reference.p95;
    for (const auto& changed : report.changed) equal = equal && changed.gap <= 2 * report.ours.p95;
  }
  std::printf("%s\n", equal ? "within the rule" : "NOT within the rule");
  return equal ? 0 : 1;
}
