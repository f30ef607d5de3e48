// cpu/vision_input.h: frames cut into patches, and where each patch stands: its place in the table of
// position embeddings and its rotary angles.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu/rotary.h"
#include "media/pixels.h"

namespace d3::cpu {

inline constexpr int kPatchSide = 16;
inline constexpr int kPatchFrames = 2;  ///< an image is both of its own
inline constexpr int kMergeSide = 2;
inline constexpr int kMergedPatches = kMergeSide * kMergeSide;
inline constexpr int kPatchValues = 3 * kPatchFrames * kPatchSide * kPatchSide;

/// An image, or one pair of a video's frames. Its patches lie in consecutive rows, in the order of merge
/// blocks: block row, block column, row in the block, column in the block.
struct VisionFrame {
  const media::Pixels* pixels = nullptr;
  size_t medium = 0;  ///< which of those that are encoded together
  int pair = 0;       ///< 0 for an image
  int rows = 0;       ///< patches
  int columns = 0;    ///< patches
  int64_t first = 0;  ///< row of its first patch in the pass

  int64_t patches() const { return static_cast<int64_t>(rows) * columns; }
  int64_t tokens() const { return patches() / kMergedPatches; }
};

/// The frames of all media, in order. Throws Error(kInvalidArgument) where Pixels are not as media/pixels.h
/// says.
std::vector<VisionFrame> vision_frames(std::span<const media::Pixels* const> media);

/// The value of each 8-bit level, (level / 255 - 0.5) / 0.5.
template <typename T>
std::array<T, 256> level_values();

/// Writes the patches of one row of merge blocks: out [2 * frame.columns, 3 channels, 2 frames, 16 rows, 16
/// columns].
template <typename T>
void write_patches(const VisionFrame& frame, int block_row, const std::array<T, 256>& levels, T* out);

/// A patch's position embedding: the weighted sum of four rows of the table (bilinear).
struct TablePlace {
  std::array<int32_t, 4> rows = {};
  std::array<float, 4> weights = {};
};

/// Where the patches of a pass stand.
class PatchPlaces {
 public:
  /// table_side: the table of position embeddings is a square of that side. head_dim: of the tower's heads.
  PatchPlaces(int table_side, int head_dim);

  /// Forgets the rows and takes those of the frames, whose `first` count up from 0.
  void place(std::span<const VisionFrame> frames);

  const TablePlace& table(int64_t row) const { return table_[static_cast<size_t>(row)]; }

  /// head_dim / 2 cosines and sines: a quarter of the head turns by the patch's row, a quarter by its column.
  RotaryAngles angles(int64_t row) const;

 private:
  void append(const VisionFrame& frame);
  void append_angles(int row, int column);

  const int table_side_;
  RotaryTable rotary_;  // of one axis
  std::vector<TablePlace> table_;
  std::vector<float> angles_;  // [rows][cos | sin], each [by row | by column]
};

}  // namespace d3::cpu
