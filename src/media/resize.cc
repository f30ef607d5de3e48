#include "media/resize.h"

#include <algorithm>
#include <cmath>

namespace d3::media {
namespace {

double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

/// Rounded half away from zero.
int16_t fixed_point(double weight, int precision) {
  const double scaled = weight * (1 << precision);
  return static_cast<int16_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

size_t byte_count(const Image& image) {
  return static_cast<size_t>(image.height) * static_cast<size_t>(image.width) * 3;
}

/// An image of that size with kVectorSlack bytes beyond its pixels.
Image image_with_slack(int height, int width) {
  Image image{.width = width, .height = height, .rgb = {}};
  image.rgb.resize(byte_count(image) + kVectorSlack);
  return image;
}

// Both take and give images with slack.

Image resize_width(const Image& source, int width, const ResizeKernels& kernels) {
  const ResizeAxis axis = resize_axis(source.width, width);
  const size_t stride = static_cast<size_t>(source.width) * 3;
  Image result = image_with_slack(source.height, width);
  for (size_t y = 0; y < static_cast<size_t>(source.height); ++y)
    kernels.row(source.rgb.data() + y * stride, axis, result.rgb.data() + y * static_cast<size_t>(width) * 3);
  return result;
}

Image resize_height(const Image& source, int height, const ResizeKernels& kernels) {
  const ResizeAxis axis = resize_axis(source.height, height);
  const size_t stride = static_cast<size_t>(source.width) * 3;
  Image result = image_with_slack(height, source.width);
  for (size_t y = 0; y < static_cast<size_t>(height); ++y)
    kernels.columns(source.rgb.data(), stride, axis, y, result.rgb.data() + y * stride);
  return result;
}

}  // namespace

ResizeAxis resize_axis(int in, int out) {
  const double scale = static_cast<double>(in) / out;
  const double filter_scale = std::max(scale, 1.0);
  const double support = 2 * filter_scale;
  const double inverse = 1 / filter_scale;
  ResizeAxis axis;
  std::vector<std::vector<double>> weights(static_cast<size_t>(out));
  double largest = 0;
  for (int i = 0; i < out; ++i) {
    const double center = scale * (i + 0.5);
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int end = std::min(static_cast<int>(center + support + 0.5), in);
    std::vector<double>& row = weights[static_cast<size_t>(i)];
    double total = 0;
    for (int j = first; j < end; ++j) total += row.emplace_back(cubic((j - center + 0.5) * inverse));
    for (double& weight : row) {
      weight /= total;
      largest = std::max(largest, weight);
    }
    axis.first.push_back(first);
    axis.count.push_back(end - first);
    axis.taps = std::max(axis.taps, end - first);
  }
  axis.taps = (axis.taps + kTapGroup - 1) / kTapGroup * kTapGroup;
  // The finest precision at which the largest weight still fits an int16.
  while (axis.precision < 22 && static_cast<int>(0.5 + largest * (1 << (axis.precision + 1))) < (1 << 15))
    ++axis.precision;
  axis.weights.resize(static_cast<size_t>(out) * static_cast<size_t>(axis.taps));
  for (size_t i = 0; i < weights.size(); ++i)
    for (size_t j = 0; j < weights[i].size(); ++j)
      axis.weights[i * static_cast<size_t>(axis.taps) + j] = fixed_point(weights[i][j], axis.precision);
  return axis;
}

Image resize(Image source, int height, int width) {
  return resize(std::move(source), height, width, *supported_resize_kernels().front());
}

Image resize(Image source, int height, int width, const ResizeKernels& kernels) {
  source.rgb.resize(byte_count(source) + kVectorSlack);
  if (width != source.width) source = resize_width(source, width, kernels);
  if (height != source.height) source = resize_height(source, height, kernels);
  source.rgb.resize(byte_count(source));
  return source;
}

}  // namespace d3::media
