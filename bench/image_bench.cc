// Times what an image costs before the vision tower, on one core: decoding, resizing as the reference does,
// and cutting it into patches.
//
//   image_bench FILE [--rounds 9]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cpu/bf16.h"
#include "cpu/vision_input.h"
#include "media/image.h"
#include "media/media.h"
#include "media/pixels.h"
#include "media/resize.h"
#include "media/sizes.h"

namespace {

using Clock = std::chrono::steady_clock;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Milliseconds of each round of a step.
class Step {
 public:
  explicit Step(const char* name) : name_(name) {}

  template <typename Work>
  auto time(const Work& work) {
    const auto start = Clock::now();
    auto result = work();
    rounds_.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    return result;
  }

  void print() {
    std::sort(rounds_.begin(), rounds_.end());
    std::printf("  %-8s%8.1f ms (%.1f to %.1f)\n", name_, rounds_[rounds_.size() / 2], rounds_.front(),
                rounds_.back());
  }

 private:
  const char* name_;
  std::vector<double> rounds_;
};

/// All patches of one image, as the tower's float32 input.
std::vector<float> patches_of(const d3::media::Pixels& pixels) {
  const d3::media::Pixels* const one = &pixels;
  const auto frame = d3::cpu::vision_frames(std::span(&one, 1)).front();
  const auto levels = d3::cpu::level_values<float>();
  const size_t patch =
      pixels.rgb.size() * d3::cpu::kPatchFrames / static_cast<size_t>(frame.rows * frame.columns);
  std::vector<float> patches(static_cast<size_t>(frame.rows * frame.columns) * patch);
  for (int block_row = 0; block_row < frame.rows / 2; ++block_row)
    d3::cpu::write_patches(frame, block_row, levels,
                           patches.data() + static_cast<size_t>(block_row * 2 * frame.columns) * patch);
  return patches;
}

}  // namespace

int main(int argc, char** argv) {
  std::string path;
  int rounds = 9;
  CLI::App app{"Times decoding, resizing and cutting an image into patches, on one core."};
  app.add_option("file", path, "A PNG, JPEG or WebP")->required()->check(CLI::ExistingFile);
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  const std::string file = read_file(path);
  const d3::media::MediaOptions options;
  Step decode("decode");
  Step resize("resize");
  Step cut("patches");
  d3::media::Size source;
  d3::media::Pixels pixels;
  pixels.frames = 1;
  for (int round = 0; round < rounds; ++round) {
    d3::media::Image image =
        decode.time([&] { return d3::media::decode_image(std::as_bytes(std::span(file)), options); });
    source = {image.height, image.width};
    const d3::media::Size size = d3::media::resized_image_size(source, options);
    pixels.height = size.height;
    pixels.width = size.width;
    pixels.rgb =
        resize.time([&] { return d3::media::resize(std::move(image), size.height, size.width); }).rgb;
    cut.time([&] { return patches_of(pixels); });
  }
  std::printf("%s: %d x %d to %d x %d, %d rounds\n", path.c_str(), source.width, source.height, pixels.width,
              pixels.height, rounds);
  for (Step* step : {&decode, &resize, &cut}) step->print();
  return 0;
}
