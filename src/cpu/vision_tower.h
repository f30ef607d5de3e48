// cpu/vision_tower.h: the forward pass of the vision tower: patches of images and videos become the features
// that the text model reads in place of pad tokens.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cpu/attention.h"
#include "cpu/machine.h"
#include "cpu/vision_input.h"
#include "cpu/vision_weights.h"
#include "model/executor.h"

namespace d3::cpu {

/// T as in TextModel: the type of activations between products; the residual stream is fp32. Not thread-safe.
/// Frames are packed, without padding, into passes of about kPassPatches rows.
template <typename T>
class VisionTower {
 public:
  /// The checkpoint must have a tower and outlive it.
  VisionTower(Machine& machine, const checkpoint::Checkpoint& checkpoint, ProductType type,
              const std::function<void(double)>& on_progress);

  /// model::Executor::encode_media.
  std::vector<model::MediaFeatures> encode(std::span<const media::Pixels* const> media);

  /// Called in each pass with "visual.blocks.<n>" and the patches' fp32 hidden states [patches, hidden_size],
  /// and with "visual.merger" and the features [patches / 4, out_hidden_size]; for tests.
  using Observer = std::function<void(const std::string& name, std::span<const float> hidden)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  uint64_t media_encoded() const { return media_encoded_; }
  uint64_t patches_encoded() const { return patches_encoded_; }

  /// Frames are taken into a pass while they fit; one frame always is (the largest image has 6,400 patches).
  static constexpr int64_t kPassPatches = 8192;

 private:
  void run_pass(std::span<VisionFrame> frames);
  void reserve(int64_t rows);
  void embed(std::span<const VisionFrame> frames, int64_t rows);
  void block(const VisionBlockWeights& weights, std::span<const VisionFrame> frames, int64_t rows);
  void attention(const VisionBlockWeights& weights, std::span<const VisionFrame> frames, int64_t rows);
  void merge(int64_t rows);

  void finish_heads(const std::vector<float>& bias, const ProductBlock& block, int64_t rows);
  void norm(const LayerNormWeights& weights, int64_t rows);
  void add_product(const BiasedLinear& product, const T* input, int64_t rows);
  const TypedKernels<T>& kernels() const { return machine_.kernels.typed<T>(); }

  Machine& machine_;
  const checkpoint::VisionConfig config_;
  const int head_dim_;
  VisionWeights weights_;
  Attention<T> attention_;
  PatchPlaces places_;
  const std::array<T, 256> levels_;
  Observer observer_;
  uint64_t media_encoded_ = 0;
  uint64_t patches_encoded_ = 0;

  // Activations, sized by reserve().
  Workspace<float> hidden_;  // the residual stream [rows, hidden_size]
  Workspace<T> normed_;      // [rows, hidden_size]; for the merger [rows / 4, 4 * hidden_size]
  Workspace<T> query_;       // [heads][rows][head_dim]
  Workspace<T> key_;         // [heads][rows][head_dim]
  Workspace<T> value_;       // [heads][rows][head_dim]
  Workspace<T> mixed_;       // attention's output [rows, heads * head_dim]
  Workspace<T> wide_;  // patches [rows, kPatchValues]; the MLP [rows, intermediate_size]; the merger's own
  Workspace<float> features_;  // [rows / 4, out_hidden_size]
};

}  // namespace d3::cpu
