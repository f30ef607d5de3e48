// make_tiny DIR [PRESET]: writes a small checkpoint with random weights, to try the program and to test it:
// the answers mean nothing. Presets: tiny (the default), tiny-irregular, tiny-causal, micro.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "support/checkpoint_writer.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || argv[1][0] == '-') {
    std::fputs("usage: make_tiny DIR [tiny|tiny-irregular|tiny-causal|micro]\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path tokenizer =
        std::filesystem::path(D3_SOURCE_DIR) / "tests/data/tokenizer-small";
    d3::test::write_checkpoint(d3::test::preset(argc == 3 ? argv[2] : "tiny", tokenizer), tokenizer, argv[1]);
  } catch (const std::out_of_range& error) {
    std::fprintf(stderr, "make_tiny: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_tiny: %s\n", error.what());
    return 1;
  }
  return 0;
}
