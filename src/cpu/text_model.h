// cpu/text_model.h: the forward pass of the text backbone over packed rows.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "cpu/attention.h"
#include "cpu/machine.h"
#include "cpu/rotary.h"
#include "cpu/text_weights.h"
#include "model/batch.h"
#include "model/executor.h"
#include "model/layout.h"
#include "model/positions.h"

namespace d3::cpu {

/// T is the type of activations between products (float, or Bf16 where they are rounded: cpu::Arithmetic);
/// the residual stream is fp32 always. Not thread-safe.
template <typename T>
class TextModel {
 public:
  /// The checkpoint must outlive the model.
  TextModel(Machine& machine, const checkpoint::Checkpoint& checkpoint, ProductType type,
            const std::function<void(double)>& on_progress);

  /// logits [question_count, 255] of the batch. Error(kInvalidArgument) for a token id outside the vocabulary
  /// or a question without tokens, and for a media block without features or outside its prefix.
  void run(const model::PackedBatch& batch, const model::ExecutorOptions& options, float* logits);

  /// Called with "embeddings", "layers.<n>" and the rows' fp32 hidden states [rows, hidden_size], before the
  /// last layer's cut to the tokens that are read; for tests.
  using Observer = std::function<void(const std::string& name, std::span<const float> hidden)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  const model::ExecutorCounters& counters() const { return counters_; }

 private:
  /// The rows a layer works on.
  struct Rows {
    std::span<const model::SequenceTree> trees;  ///< for causal mixers
    std::span<const model::RowRun> questions;    ///< for full attention; empty in the shared layout
    int64_t count = 0;
  };

  void layer(size_t index, const Rows& rows);
  void last_layer(const LayerWeights& weights, const Rows& rows);
  void full_attention(const FullAttentionWeights& weights, const Rows& rows);
  void last_full_attention(const FullAttentionWeights& weights, const Rows& rows);
  void attend(const FullAttentionWeights& weights, std::span<const AttentionSequence> sequences,
              int64_t query_rows, int64_t key_rows, float* hidden);
  void run_attention(std::span<const AttentionSequence> sequences, int64_t query_rows, int64_t key_rows);
  void linear_attention(const LinearAttentionWeights& weights, const Rows& rows);
  void last_linear_attention(const LinearAttentionWeights& weights, const Rows& rows);
  void run_delta_net(const DeltaNetWeights& weights, const Rows& rows, bool last_only);
  void mlp(const LayerWeights& weights, float* hidden, int64_t rows, T* normed);
  void readout(float* logits, int64_t questions);

  void norm(const float* hidden, const std::vector<float>& scale, int64_t rows, T* out);
  void project(Part part, const Linear& linear, const T* input, int64_t rows,
               const std::function<void(const ProductBlock&)>& epilogue, PanelRange range = {});
  void add_product(Part part, const Linear& linear, const T* input, int64_t rows, float* hidden);
  void finish_query(const FullAttentionWeights& weights, const ProductBlock& block, int64_t rows,
                    std::span<const RotaryAngles> angles);
  void finish_key_value(const FullAttentionWeights& weights, const ProductBlock& block, int64_t rows);
  void finish_head(const ProductBlock& block, const std::vector<float>& scale, float factor,
                   std::span<const RotaryAngles> angles, T* out, int64_t stride);
  void finish_linear_projection(const ProductBlock& block);

  void reserve(const model::QuestionLayout& layout, int64_t questions);
  void place(const model::PackedBatch& batch, int64_t longest);
  RotaryAngles angles_of(const model::Position& position);
  void embed(const model::PackedBatch& batch, const model::SharedLayout& layout);
  void expand(const model::SharedLayout& shared, const model::QuestionLayout& questions);
  void gather_last_hidden(const Rows& rows);
  void count(const model::QuestionLayout& questions, const model::SharedLayout& shared,
             const model::ExecutorOptions& options);
  size_t hidden_size(int64_t rows) const { return static_cast<size_t>(rows * config_.hidden_size); }
  const TypedKernels<T>& kernels() const { return machine_.kernels.typed<T>(); }

  Machine& machine_;
  const checkpoint::TextConfig config_;
  const checkpoint::DecisionConfig decision_;
  TextWeights weights_;
  Attention<T> attention_;
  RotaryTable rotary_;
  const bool exact_products_;   // as exact as the reference's float32
  const size_t shared_layers_;  // leading causal layers, run once per shared prefix
  Observer observer_;
  model::ExecutorCounters counters_;

  // Activations, [rows, ..] each; sized by reserve().
  Workspace<float> hidden_;        // the residual stream [rows, hidden_size]
  Workspace<float> spare_hidden_;  // expand()'s target; swapped with hidden_
  Workspace<float> last_hidden_;   // [questions, hidden_size]
  Workspace<T> normed_;            // [rows, hidden_size]
  Workspace<T> last_normed_;       // [questions, hidden_size]
  Workspace<T> query_;             // linear: qkv [rows, channels]; full: q [kv][rows][group][head_dim]
  Workspace<float> qkv_;
  Workspace<T> key_;                  // [kv][rows][head_dim]
  Workspace<T> value_;                // [kv][rows][head_dim]
  Workspace<float> gate_;             // linear: z [rows, V*128]; full: sigmoid(gate) [rows, heads * head_dim]
  Workspace<float> ba_;               // [rows, 2V]
  Workspace<T> mixed_;                // the mixer's output before its last projection
  Workspace<T> mlp_;                  // [rows, intermediate_size]
  Workspace<float> readout_input_;    // [questions, hidden_size]
  std::vector<RotaryAngles> angles_;  // [rows] in the question layout
  std::vector<RotaryAngles> last_angles_;  // [questions]
  std::vector<float> media_angles_;        // [media tokens][cos | sin], where the axes differ
};

}  // namespace d3::cpu
