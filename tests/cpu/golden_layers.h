// tests/cpu/golden_layers.h: the reference's hidden states, and a model's beside them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"

namespace d3::test {

/// A tensor of a safetensors file as values of T. std::runtime_error when the file has none of that name.
template <typename T>
std::vector<T> read_tensor(const std::string& file, const std::filesystem::path& path,
                           const std::string& name) {
  for (const auto& entry : checkpoint::read_safetensors_header(std::as_bytes(std::span(file)), path)) {
    if (entry.name != name) continue;
    std::vector<T> values((entry.end - entry.begin) / sizeof(T));
    std::memcpy(values.data(), file.data() + entry.begin, entry.end - entry.begin);
    return values;
  }
  throw std::runtime_error(path.string() + " has no " + name);
}

/// The observer of a model that compares what it sees with a file of the reference's layers.
class LayerComparison {
 public:
  LayerComparison(const std::string& file, const std::filesystem::path& path) : file_(file), path_(path) {}

  void operator()(const std::string& layer, std::span<const float> hidden) {
    const auto expected = read_tensor<float>(file_, path_, layer);
    ASSERT_EQ(hidden.size(), expected.size()) << layer;
    float scale = 0.0F;
    float worst = 0.0F;
    for (size_t i = 0; i < hidden.size(); ++i) {
      scale = std::max(scale, std::abs(expected[i]));
      worst = std::max(worst, std::abs(expected[i] - hidden[i]));
    }
    EXPECT_LE(worst, 1e-3F * scale) << layer;
    ::testing::Test::RecordProperty(layer, std::to_string(worst / scale));
    seen_.insert(layer);
  }

  size_t seen() const { return seen_.size(); }

 private:
  const std::string& file_;
  const std::filesystem::path path_;
  std::set<std::string> seen_;
};

}  // namespace d3::test
