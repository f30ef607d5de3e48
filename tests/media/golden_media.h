// The media of tests/data/media and what the reference made of them (golden.json: sizes, grids, sampled
// frames, timestamps, and SHA-256 of the pixels after decoding and resizing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "checkpoint/sha256.h"
#include "test_paths.h"

namespace d3::test {

inline std::vector<std::byte> media_file(const std::string& name) {
  std::ifstream in(data_path("media/" + name), std::ios::binary);
  EXPECT_TRUE(in) << name;
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

struct GoldenFrame {
  int height = 0;
  int width = 0;
  std::string sha256;
  bool operator==(const GoldenFrame&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const GoldenFrame& frame) {
  return out << frame.height << " x " << frame.width << ' ' << frame.sha256;
}

inline GoldenFrame frame_of(int height, int width, std::span<const uint8_t> rgb) {
  return {height, width, checkpoint::to_hex(checkpoint::Sha256::of(std::as_bytes(rgb)))};
}

/// golden.json, kept parsed.
class GoldenMedia {
 public:
  GoldenMedia() : root_(parser_.load(data_path("media/golden.json").string())) {}

  simdjson::dom::object root() const { return root_; }

  /// media[key][i].
  static int64_t integer(simdjson::dom::element media, const char* key, size_t i) {
    return media[key].at(i).get_int64().value();
  }

  static GoldenFrame frame(simdjson::dom::element media, const char* key) {
    return {static_cast<int>(integer(media, key, 0)), static_cast<int>(integer(media, key, 1)),
            std::string(media[key].at(2).get_string().value())};
  }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

}  // namespace d3::test
