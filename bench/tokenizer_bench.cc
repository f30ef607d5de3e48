// Times the tokenizer on whole documents: the time to load, and per file its bytes, tokens, a checksum of the
// ids and MB/s. Usage: tokenizer_bench DIR FILE...
#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "text/tokenizer.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// FNV-1a over the ids, so that two runs can be seen to agree.
uint64_t checksum(const std::vector<int32_t>& ids) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const int32_t id : ids) hash = (hash ^ static_cast<uint32_t>(id)) * 0x100000001B3;
  return hash;
}

// The best of five runs, each at least a fifth of a second long.
void time_file(const d3::text::Tokenizer& tokenizer, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::vector<int32_t> ids;
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const auto start = Clock::now();
    int repeats = 0;
    for (; repeats == 0 || seconds_since(start) < 0.2; ++repeats) ids = tokenizer.encode(text);
    best = std::min(best, seconds_since(start) / repeats);
  }
  fmt::print("{}\t{}\t{}\t{:016x}\t{:.2f}\n", path, text.size(), ids.size(), checksum(ids),
             static_cast<double>(text.size()) / best / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) {
    fmt::print(stderr, "usage: tokenizer_bench DIR FILE...\n");
    return 2;
  }
  try {
    const auto start = Clock::now();
    const auto tokenizer = d3::text::Tokenizer::load(std::filesystem::path(arguments[0]));
    fmt::print("load\t{:.1f} ms\n", seconds_since(start) * 1e3);
    for (size_t i = 1; i < arguments.size(); ++i) time_file(tokenizer, arguments[i]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tokenizer_bench: {}\n", error.what());
    return 1;
  }
}
