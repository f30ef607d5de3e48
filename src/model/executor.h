// model/executor.h: the face every device's executor shows to engine/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "media/pixels.h"
#include "model/batch.h"

namespace d3::model {

/// Number of answer codes, the readout's rows.
inline constexpr int kAnswerCodes = 255;

/// Savings that never change an answer; off only to measure them or to test that they do not.
struct ExecutorOptions {
  bool share_prefixes = true;  ///< run leading causal layers once per shared prefix
  bool cut_last_layer = true;  ///< run the last layer only for the tokens that are read
};

/// Work done since the executor was made.
struct ExecutorCounters {
  uint64_t batches = 0;
  uint64_t questions = 0;
  uint64_t tokens = 0;           ///< of all questions, shared prefixes counted for each
  uint64_t layer_rows = 0;       ///< rows that went through a layer's mixer and MLP, summed over layers
  uint64_t layer_rows_full = 0;  ///< the same without the savings of ExecutorOptions
  uint64_t media_encoded = 0;    ///< images and videos that went through the vision tower
  uint64_t patches = 0;          ///< their patches
};

/// Time spent in one part of the forward pass since the executor was made, by the checkpoint's names where it
/// has them ("mlp.down_proj").
struct PartTime {
  std::string_view name;
  double seconds = 0;          ///< from its begin to its end
  double product_seconds = 0;  ///< of these, what the workers spent in matrix products, on average
};

/// What the text model reads of an image or a video: fp32 [tokens, hidden_size], a token for each 32 x 32
/// pixels of an image or of a pair of frames, in the order of the prompt's pads.
using MediaFeatures = std::vector<float>;

/// Runs batches of one model on one device. Not thread-safe: one thread calls run at a time.
class Executor {
 public:
  virtual ~Executor() = default;

  /// The readout's logits at the last token of every question, fp32 [question_count, 255] row-major, in the
  /// order of groups and tails. A question's logits do not depend on what else is in the batch (but for
  /// rounding). Throws Error(kInvalidArgument) when a token id is outside the vocabulary.
  virtual std::vector<float> run(const PackedBatch& batch) = 0;

  /// Whether the checkpoint has a vision tower.
  virtual bool has_vision() const { return false; }

  /// The vision tower over all of them, packed together; result i belongs to media[i]. Throws
  /// Error(kInvalidArgument) for sizes that Pixels does not allow and Error(kUnsupported) without a tower.
  virtual std::vector<MediaFeatures> encode_media(std::span<const media::Pixels* const> /*media*/) {
    throw Error(ErrorCode::kUnsupported, "this checkpoint has no vision tower");
  }

  virtual void set_options(const ExecutorOptions&) {}
  virtual ExecutorCounters counters() const { return {}; }
  virtual std::vector<PartTime> part_times() const { return {}; }

  /// "bfloat16", "float32", "int8".
  virtual std::string dtype_name() const = 0;
};

}  // namespace d3::model
