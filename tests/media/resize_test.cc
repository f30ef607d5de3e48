// The vectorised passes against the formula written plainly.
#include "media/resize.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace d3::media {
namespace {

Image noise(int height, int width, unsigned seed) {
  Image image{.width = width, .height = height, .rgb = {}};
  std::mt19937 random(seed);
  image.rgb.resize(static_cast<size_t>(height) * static_cast<size_t>(width) * 3);
  // Extremes are frequent, so that sums leave 0..255 on both sides.
  for (uint8_t& value : image.rgb) {
    const unsigned bits = random();
    value = (bits & 0x300U) == 0 ? 0 : (bits & 0x300U) == 0x300U ? 255 : static_cast<uint8_t>(bits & 0xFFU);
  }
  return image;
}

// One value of an axis: `at(j)` is the input's value at j.
template <typename At>
uint8_t plain_value(const ResizeAxis& axis, size_t i, At at) {
  int64_t sum = int64_t{1} << (axis.precision - 1);
  for (int j = 0; j < axis.count[i]; ++j)
    sum += int64_t{axis.weights[i * static_cast<size_t>(axis.taps) + static_cast<size_t>(j)]} *
           at(axis.first[i] + j);
  return static_cast<uint8_t>(std::clamp<int64_t>(sum >> axis.precision, 0, 255));
}

uint8_t pixel(const Image& image, int y, int x, int channel) {
  return image.rgb[static_cast<size_t>((y * image.width + x) * 3 + channel)];
}

Image plain_resize(const Image& source, int height, int width) {
  Image wide = source;
  if (width != source.width) {
    const ResizeAxis axis = resize_axis(source.width, width);
    wide = {.width = width, .height = source.height, .rgb = {}};
    for (int y = 0; y < source.height; ++y)
      for (int x = 0; x < width; ++x)
        for (int channel = 0; channel < 3; ++channel)
          wide.rgb.push_back(
              plain_value(axis, static_cast<size_t>(x), [&](int j) { return pixel(source, y, j, channel); }));
  }
  if (height == source.height) return wide;
  const ResizeAxis axis = resize_axis(source.height, height);
  Image result{.width = width, .height = height, .rgb = {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int channel = 0; channel < 3; ++channel)
        result.rgb.push_back(
            plain_value(axis, static_cast<size_t>(y), [&](int j) { return pixel(wide, j, x, channel); }));
  return result;
}

TEST(ResizeTest, EqualsTheFormula) {
  const int sizes[] = {1, 2, 3, 5, 16, 31, 64, 97, 200};
  unsigned seed = 0;
  for (const int height : sizes)
    for (const int width : sizes) {
      const Image source = noise(height, width, ++seed);
      for (const int to_height : {32, 64})
        for (const int to_width : {32, 96}) {
          const Image expected = plain_resize(source, to_height, to_width);
          for (const ResizeKernels* kernels : supported_resize_kernels()) {
            const Image actual = resize(source, to_height, to_width, *kernels);
            ASSERT_EQ(actual.height, to_height);
            ASSERT_EQ(actual.width, to_width);
            ASSERT_EQ(actual.rgb, expected.rgb) << kernels->name << ": " << height << " x " << width << " to "
                                                << to_height << " x " << to_width;
          }
        }
    }
}

TEST(ResizeTest, HandlesManyTapsAndNone) {
  const Image tall = noise(3000, 2, 1);
  EXPECT_EQ(resize(tall, 32, 32).rgb, plain_resize(tall, 32, 32).rgb);
  const Image wide = noise(2, 3000, 2);
  EXPECT_EQ(resize(wide, 32, 32).rgb, plain_resize(wide, 32, 32).rgb);
  EXPECT_EQ(resize(tall, 3000, 2).rgb, tall.rgb);
}

TEST(ResizeTest, AConstantImageStaysConstant) {
  for (const int value : {0, 1, 128, 254, 255}) {
    Image source{.width = 333, .height = 77, .rgb = {}};
    source.rgb.assign(333 * 77 * 3, static_cast<uint8_t>(value));
    const Image result = resize(source, 64, 64);
    EXPECT_TRUE(std::ranges::all_of(result.rgb, [&](uint8_t v) { return v == value; })) << value;
  }
}

}  // namespace
}  // namespace d3::media
