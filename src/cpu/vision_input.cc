#include "cpu/vision_input.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "cpu/bf16.h"

namespace d3::cpu {
namespace {

constexpr double kTheta = 10000;

/// A patch between two entries of one axis of the table.
struct AxisPlace {
  int low = 0;
  int high = 0;
  float fraction = 0;  // of the way from low to high
};

/// `size` patches spread over `side` entries with aligned corners, in fp32 as the reference does it.
std::vector<AxisPlace> spread(int size, int side) {
  std::vector<AxisPlace> places;
  const auto last = static_cast<float>(side - 1);
  const float step = last / static_cast<float>(size - 1);
  for (int i = 0; i < size; ++i) {
    // From the nearer end, so that both corners are exact.
    const float at =
        i < size / 2 ? step * static_cast<float>(i) : last - step * static_cast<float>(size - 1 - i);
    const int low = std::clamp(static_cast<int>(at), 0, side - 1);
    places.push_back({low, std::min(low + 1, side - 1), at - static_cast<float>(low)});
  }
  return places;
}

void check(const media::Pixels& pixels) {
  const int multiple = kPatchSide * kMergeSide;
  const bool frames = pixels.frames == 1 || (pixels.frames > 0 && pixels.frames % kPatchFrames == 0);
  if (!frames || pixels.height <= 0 || pixels.width <= 0 || pixels.height % multiple != 0 ||
      pixels.width % multiple != 0)
    throw Error(ErrorCode::kInvalidArgument, std::to_string(pixels.frames) + " frames of " +
                                                 std::to_string(pixels.width) + " x " +
                                                 std::to_string(pixels.height) + " pixels have no patches");
  if (pixels.rgb.size() != static_cast<size_t>(pixels.frames) * static_cast<size_t>(pixels.height) *
                               static_cast<size_t>(pixels.width) * 3)
    throw Error(ErrorCode::kInvalidArgument, "a frame's pixels are not as many as its size says");
}

template <typename T>
T rounded(float value) {
  if constexpr (std::is_same_v<T, float>)
    return value;
  else
    return to_bf16(value);
}

}  // namespace

std::vector<VisionFrame> vision_frames(std::span<const media::Pixels* const> media) {
  std::vector<VisionFrame> frames;
  for (size_t medium = 0; medium < media.size(); ++medium) {
    const media::Pixels& pixels = *media[medium];
    check(pixels);
    for (int pair = 0; pair < std::max(1, pixels.frames / kPatchFrames); ++pair)
      frames.push_back({.pixels = &pixels,
                        .medium = medium,
                        .pair = pair,
                        .rows = pixels.height / kPatchSide,
                        .columns = pixels.width / kPatchSide});
  }
  return frames;
}

template <typename T>
std::array<T, 256> level_values() {
  std::array<T, 256> values = {};
  for (size_t level = 0; level < values.size(); ++level)
    values[level] = rounded<T>((static_cast<float>(level) / 255.0F - 0.5F) / 0.5F);
  return values;
}

template <typename T>
void write_patches(const VisionFrame& frame, int block_row, const std::array<T, 256>& levels, T* out) {
  const media::Pixels& pixels = *frame.pixels;
  const auto line = static_cast<size_t>(pixels.width) * 3;
  const auto write_patch = [&](int row, int column) {
    for (int channel = 0; channel < 3; ++channel) {
      for (int t = 0; t < kPatchFrames; ++t) {
        const int index = std::min(kPatchFrames * frame.pair + t, pixels.frames - 1);
        const auto top = static_cast<size_t>(index) * static_cast<size_t>(pixels.height) +
                         static_cast<size_t>(row) * kPatchSide;
        for (size_t y = 0; y < kPatchSide; ++y) {
          const uint8_t* from = pixels.rgb.data() + (top + y) * line +
                                static_cast<size_t>(column) * kPatchSide * 3 + static_cast<size_t>(channel);
          for (size_t x = 0; x < kPatchSide; ++x) *out++ = levels[from[3 * x]];
        }
      }
    }
  };
  for (int block_column = 0; block_column < frame.columns / kMergeSide; ++block_column)
    for (int row = 0; row < kMergeSide; ++row)
      for (int column = 0; column < kMergeSide; ++column)
        write_patch(block_row * kMergeSide + row, block_column * kMergeSide + column);
}

PatchPlaces::PatchPlaces(int table_side, int head_dim)
    : table_side_(table_side), rotary_(kTheta, head_dim / 2) {}

void PatchPlaces::place(std::span<const VisionFrame> frames) {
  table_.clear();
  angles_.clear();
  for (const VisionFrame& frame : frames) append(frame);
}

void PatchPlaces::append(const VisionFrame& frame) {
  const std::vector<AxisPlace> rows = spread(frame.rows, table_side_);
  const std::vector<AxisPlace> columns = spread(frame.columns, table_side_);
  rotary_.reserve(std::max(frame.rows, frame.columns));
  const auto append_patch = [&](int row, int column) {
    const AxisPlace& y = rows[static_cast<size_t>(row)];
    const AxisPlace& x = columns[static_cast<size_t>(column)];
    table_.push_back({.rows = {y.low * table_side_ + x.low, y.low * table_side_ + x.high,
                               y.high * table_side_ + x.low, y.high * table_side_ + x.high},
                      .weights = {(1.0F - y.fraction) * (1.0F - x.fraction), (1.0F - y.fraction) * x.fraction,
                                  y.fraction * (1.0F - x.fraction), y.fraction * x.fraction}});
    append_angles(row, column);
  };
  for (int block_row = 0; block_row < frame.rows; block_row += kMergeSide)
    for (int block_column = 0; block_column < frame.columns; block_column += kMergeSide)
      for (int row = 0; row < kMergeSide; ++row)
        for (int column = 0; column < kMergeSide; ++column)
          append_patch(block_row + row, block_column + column);
}

void PatchPlaces::append_angles(int row, int column) {
  for (const float* values : {rotary_.cos(row), rotary_.cos(column), rotary_.sin(row), rotary_.sin(column)})
    angles_.insert(angles_.end(), values, values + rotary_.half());
}

RotaryAngles PatchPlaces::angles(int64_t row) const {
  const float* first = angles_.data() + row * 4 * rotary_.half();
  return {first, first + 2 * static_cast<ptrdiff_t>(rotary_.half())};
}

template std::array<float, 256> level_values();
template std::array<Bf16, 256> level_values();
template void write_patches(const VisionFrame&, int, const std::array<float, 256>&, float*);
template void write_patches(const VisionFrame&, int, const std::array<Bf16, 256>&, Bf16*);

}  // namespace d3::cpu
