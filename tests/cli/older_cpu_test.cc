// The program on CPUs older than the one that runs the tests, by QEMU's emulation of the instructions those
// have: nothing newer may run, neither while the program starts nor in a kernel that was not chosen.
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "json/number.h"
#include "json/parse.h"
#include "support/process.h"

namespace d3::cli {
namespace {

using test::ProcessResult;

const std::string kAsk =
    " ask demo --threads 1 --json --state 'Write a Python function that merges two sorted lists.' "
    "--choice 'kind: What kind of work is this?' --option code='Writing or fixing code' "
    "--option math=Mathematics --option chat='Anything else'";

double probability_of_code(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto answer = json::parse(result.out);
  return json::to_double(
             answer.find("answers")->find("kind")->find("probabilities")->find("code")->as_number())
      .value();
}

/// A CPU's name in QEMU and a dtype.
class OlderCpu : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(OlderCpu, AnswersAsThisCpu) {
  const auto& [cpu, dtype] = GetParam();
  const std::string ask = kAsk + " --dtype " + dtype;
  // This CPU may multiply bfloat16 weights in fp16, and a change of 1e-7 may move a value of int8 by a step.
  EXPECT_NEAR(probability_of_code(test::run_shell("qemu-x86_64 -cpu " + cpu + " $D3" + ask)),
              probability_of_code(test::run_shell("$D3" + ask)), dtype == "float32" ? 1e-5 : 4e-3);
}

// Opteron_G1: SSE3, the baseline; Nehalem: SSE4.2; Haswell: AVX2 and FMA. None has AVX-512.
INSTANTIATE_TEST_SUITE_P(Cpus, OlderCpu,
                         testing::Combine(testing::Values("Opteron_G1", "Nehalem", "Haswell"),
                                          testing::Values("bfloat16", "float32", "int8")),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param);
                         });

}  // namespace
}  // namespace d3::cli
