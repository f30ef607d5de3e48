#include "cpu/text_model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "cpu/weight_rows.h"

namespace d3::cpu {
namespace {

// Products may read this many rows beyond the last one (MatmulCache::bucket_rows rounds up by less).
constexpr int64_t kPaddingRows = 128;
// Rows an element-wise work item handles.
constexpr int64_t kRowsPerItem = 16;

/// The number of leading layers that are causal and not the last.
size_t count_shared_layers(const checkpoint::TextConfig& config) {
  size_t count = 0;
  while (count + 1 < config.layer_types.size() &&
         config.layer_types[count] == checkpoint::LayerType::kLinearAttention)
    ++count;
  return count;
}

void check_batch(const model::PackedBatch& batch, int vocab_size) {
  const auto check = [vocab_size](std::span<const int32_t> ids) {
    for (const int32_t id : ids)
      if (id < 0 || id >= vocab_size)
        throw Error(
            ErrorCode::kInvalidArgument,
            "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocab_size));
  };
  for (const model::QuestionGroup& group : batch.groups) {
    check(group.prefix);
    for (const model::MediaBlock& block : group.media)
      if (block.features == nullptr)
        throw Error(ErrorCode::kInvalidArgument, "a media block without features");
    for (const auto& tail : group.tails) {
      if (tail.empty()) throw Error(ErrorCode::kInvalidArgument, "a question without tokens");
      check(tail);
    }
  }
}

}  // namespace

template <typename T>
TextModel<T>::TextModel(Machine& machine, const checkpoint::Checkpoint& checkpoint, ProductType type,
                        const std::function<void(double)>& on_progress)
    : machine_(machine),
      config_(checkpoint.config().text),
      decision_(checkpoint.decision()),
      weights_(pack_text_weights(machine, checkpoint, type, on_progress)),
      attention_({.heads = config_.num_attention_heads,
                  .kv_heads = config_.num_key_value_heads,
                  .head_dim = config_.head_dim,
                  .causal = decision_.attention_mode == checkpoint::AttentionMode::kCausal},
                 attends_in_float16(machine.kernels, type)),
      rotary_(config_.rope_theta, config_.rotary_dim),
      exact_products_(type == ProductType::kFloat32 || type == ProductType::kWidened),
      shared_layers_(count_shared_layers(config_)) {}

template <typename T>
void TextModel<T>::run(const model::PackedBatch& batch, const model::ExecutorOptions& options,
                       float* logits) {
  check_batch(batch, config_.vocab_size);
  const model::SharedLayout shared = model::shared_layout(batch, options.share_prefixes);
  const model::QuestionLayout questions = model::question_layout(batch);
  const std::vector<model::SequenceTree> question_trees = model::as_trees(questions);
  const auto question_count = static_cast<int64_t>(questions.questions.size());
  reserve(questions, question_count);
  place(batch, questions.longest);

  embed(batch, shared);
  const Rows shared_rows{shared.trees, {}, shared.rows};
  const Rows rows{question_trees, questions.questions, questions.rows};
  size_t index = 0;
  for (; index < shared_layers_; ++index) layer(index, shared_rows);
  expand(shared, questions);
  for (; index + 1 < weights_.layers.size(); ++index) layer(index, rows);
  if (options.cut_last_layer) {
    last_layer(weights_.layers.back(), rows);
  } else {
    layer(index, rows);
    gather_last_hidden(rows);
  }
  readout(logits, question_count);
  count(questions, shared, options);
}

template <typename T>
void TextModel<T>::layer(size_t index, const Rows& rows) {
  const LayerWeights& weights = weights_.layers[index];
  norm(hidden_.data(), weights.input_layernorm, rows.count, normed_.data());
  if (weights.self_attn)
    full_attention(*weights.self_attn, rows);
  else
    linear_attention(*weights.linear_attn, rows);
  mlp(weights, hidden_.data(), rows.count, normed_.data());
  if (observer_) observer_("layers." + std::to_string(index), {hidden_.data(), hidden_size(rows.count)});
}

template <typename T>
void TextModel<T>::last_layer(const LayerWeights& weights, const Rows& rows) {
  const auto questions = static_cast<int64_t>(rows.questions.size());
  norm(hidden_.data(), weights.input_layernorm, rows.count, normed_.data());
  gather_last_hidden(rows);
  norm(last_hidden_.data(), weights.input_layernorm, questions, last_normed_.data());
  if (weights.self_attn)
    last_full_attention(*weights.self_attn, rows);
  else
    last_linear_attention(*weights.linear_attn, rows);
  mlp(weights, last_hidden_.data(), questions, last_normed_.data());
}

template <typename T>
void TextModel<T>::full_attention(const FullAttentionWeights& weights, const Rows& rows) {
  project(Part::kQkvProj, weights.qkv, normed_.data(), rows.count, [&](const ProductBlock& block) {
    if (block.role == kQuery || block.role == kGate)
      finish_query(weights, block, rows.count, angles_);
    else
      finish_key_value(weights, block, rows.count);
  });
  std::vector<AttentionSequence> sequences;
  for (const model::RowRun& run : rows.questions)
    sequences.push_back({run.first, run.rows, run.first, run.rows, 0});
  attend(weights, sequences, rows.count, rows.count, hidden_.data());
}

template <typename T>
void TextModel<T>::last_full_attention(const FullAttentionWeights& weights, const Rows& rows) {
  const auto questions = static_cast<int64_t>(rows.questions.size());
  project(
      Part::kQkvProj, weights.qkv, last_normed_.data(), questions,
      [&](const ProductBlock& block) { finish_query(weights, block, questions, last_angles_); },
      weights.query_panels);
  project(
      Part::kQkvProj, weights.qkv, normed_.data(), rows.count,
      [&](const ProductBlock& block) { finish_key_value(weights, block, rows.count); },
      weights.key_value_panels);
  std::vector<AttentionSequence> sequences;
  for (const model::RowRun& run : rows.questions)
    sequences.push_back({static_cast<int64_t>(sequences.size()), 1, run.first, run.rows, run.rows - 1});
  attend(weights, sequences, questions, rows.count, last_hidden_.data());
}

template <typename T>
void TextModel<T>::attend(const FullAttentionWeights& weights, std::span<const AttentionSequence> sequences,
                          int64_t query_rows, int64_t key_rows, float* hidden) {
  run_attention(sequences, query_rows, key_rows);
  add_product(Part::kOProj, weights.o_proj, mixed_.data(), query_rows, hidden);
}

template <typename T>
void TextModel<T>::run_attention(std::span<const AttentionSequence> sequences, int64_t query_rows,
                                 int64_t key_rows) {
  const PartTimer timer(machine_.part_clock, Part::kAttention);
  attention_.run(machine_,
                 {.q = query_.data(),
                  .k = key_.data(),
                  .v = value_.data(),
                  .gate = gate_.data(),
                  .out = mixed_.data(),
                  .query_rows = query_rows,
                  .key_rows = key_rows},
                 sequences);
}

template <typename T>
void TextModel<T>::linear_attention(const LinearAttentionWeights& weights, const Rows& rows) {
  project(Part::kInProj, weights.in_proj, normed_.data(), rows.count,
          [&](const ProductBlock& block) { finish_linear_projection(block); });
  run_delta_net(weights.delta, rows, false);
  add_product(Part::kOutProj, weights.out_proj, mixed_.data(), rows.count, hidden_.data());
}

template <typename T>
void TextModel<T>::last_linear_attention(const LinearAttentionWeights& weights, const Rows& rows) {
  const auto questions = static_cast<int64_t>(rows.questions.size());
  const auto finish = [&](const ProductBlock& block) { finish_linear_projection(block); };
  project(Part::kInProj, weights.in_proj, normed_.data(), rows.count, finish, weights.state_panels);
  project(Part::kInProj, weights.in_proj, last_normed_.data(), questions, finish, weights.z_panels);
  run_delta_net(weights.delta, rows, true);
  add_product(Part::kOutProj, weights.out_proj, mixed_.data(), questions, last_hidden_.data());
}

template <typename T>
void TextModel<T>::mlp(const LayerWeights& weights, float* hidden, int64_t rows, T* normed) {
  norm(hidden, weights.post_attention_layernorm, rows, normed);
  const int64_t size = config_.intermediate_size;
  project(Part::kGateUpProj, weights.mlp.gate_up, normed, rows, [&](const ProductBlock& block) {
    const int columns = block.columns / 2;
    for (int row = 0; row < block.rows; ++row) {
      const float* gate = block.values + static_cast<ptrdiff_t>(row) * block.columns;
      kernels().silu_mul(gate, gate + columns, columns, mlp_.data() + (block.row + row) * size + block.index);
    }
  });
  add_product(Part::kDownProj, weights.mlp.down_proj, mlp_.data(), rows, hidden);
}

template <typename T>
void TextModel<T>::readout(float* logits, int64_t questions) {
  const PartTimer timer(machine_.part_clock, Part::kReadout);
  const auto count = hidden_size(questions);
  float* normed = readout_input_.reserve(hidden_size(questions + kPaddingRows));
  for (int64_t row = 0; row < questions; ++row)
    machine_.kernels.f32.rms_norm(last_hidden_.data() + row * config_.hidden_size, weights_.norm.data(),
                                  config_.hidden_size, config_.rms_norm_eps,
                                  normed + row * config_.hidden_size);
  // The reference rounds a bf16 readout's inputs and outputs even when all else is fp32. Between rounded
  // products that would only add to the error, so there the readout stays fp32 over bf16 weights.
  const bool narrow = decision_.readout_dtype == checkpoint::ReadoutDtype::kBfloat16 && exact_products_;
  if (narrow)
    for (size_t i = 0; i < count; ++i) normed[i] = to_float(to_bf16(normed[i]));
  weights_.readout.run(machine_, normed, questions, [&](const ProductBlock& block) {
    for (int row = 0; row < block.rows; ++row)
      std::copy_n(block.values + static_cast<ptrdiff_t>(row) * block.columns, block.columns,
                  logits + (block.row + row) * block.columns);
  });
  if (narrow)
    for (int64_t i = 0; i < questions * model::kAnswerCodes; ++i) logits[i] = to_float(to_bf16(logits[i]));
}

template <typename T>
void TextModel<T>::project(Part part, const Linear& linear, const T* input, int64_t rows,
                           const std::function<void(const ProductBlock&)>& epilogue, PanelRange range) {
  const PartTimer timer(machine_.part_clock, part);
  linear.run(machine_, input, rows, epilogue, range);
}

template <typename T>
void TextModel<T>::run_delta_net(const DeltaNetWeights& weights, const Rows& rows, bool last_only) {
  const PartTimer timer(machine_.part_clock, Part::kDeltaRule);
  gated_delta_net<T>(
      machine_, weights,
      {.qkv = qkv_.data(), .z = gate_.data(), .ba = ba_.data(), .out = mixed_.data(), .last_only = last_only},
      rows.trees);
}

template <typename T>
void TextModel<T>::norm(const float* hidden, const std::vector<float>& scale, int64_t rows, T* out) {
  const PartTimer timer(machine_.part_clock, Part::kNorms);
  const int n = config_.hidden_size;
  machine_.pool.parallel_for(
      static_cast<size_t>((rows + kRowsPerItem - 1) / kRowsPerItem), [&](size_t item, int) {
        const int64_t first = static_cast<int64_t>(item) * kRowsPerItem;
        for (int64_t row = first; row < std::min(first + kRowsPerItem, rows); ++row)
          kernels().rms_norm(hidden + row * n, scale.data(), n, config_.rms_norm_eps, out + row * n);
      });
}

template <typename T>
void TextModel<T>::add_product(Part part, const Linear& linear, const T* input, int64_t rows, float* hidden) {
  project(part, linear, input, rows, [&](const ProductBlock& block) {
    for (int row = 0; row < block.rows; ++row)
      machine_.kernels.add(block.values + static_cast<ptrdiff_t>(row) * block.columns, block.columns,
                           hidden + (block.row + row) * config_.hidden_size + block.index);
  });
}

template <typename T>
void TextModel<T>::finish_query(const FullAttentionWeights& weights, const ProductBlock& block, int64_t rows,
                                std::span<const RotaryAngles> angles) {
  const int dim = config_.head_dim;
  const int group = config_.num_attention_heads / config_.num_key_value_heads;
  const int head = block.index;
  if (block.role == kQuery) {
    T* out = query_.data() + (head / group * rows * group + head % group) * dim;
    const float factor = 1.0F / std::sqrt(static_cast<float>(dim));
    finish_head(block, weights.q_norm, factor, angles, out, static_cast<int64_t>(group) * dim);
    return;
  }
  for (int row = 0; row < block.rows; ++row)
    machine_.kernels.f32.store_sigmoid(
        block.values + static_cast<ptrdiff_t>(row) * dim, dim,
        gate_.data() + ((block.row + row) * config_.num_attention_heads + head) * dim);
}

template <typename T>
void TextModel<T>::finish_key_value(const FullAttentionWeights& weights, const ProductBlock& block,
                                    int64_t rows) {
  const int dim = config_.head_dim;
  const int64_t at = block.index * rows * dim;
  if (block.role == kKey) {
    finish_head(block, weights.k_norm, 1.0F, angles_, key_.data() + at, dim);
    return;
  }
  for (int row = 0; row < block.rows; ++row)
    kernels().store(block.values + static_cast<ptrdiff_t>(row) * dim, dim,
                    value_.data() + at + (block.row + row) * dim);
}

template <typename T>
void TextModel<T>::finish_head(const ProductBlock& block, const std::vector<float>& scale, float factor,
                               std::span<const RotaryAngles> angles, T* out, int64_t stride) {
  for (int row = 0; row < block.rows; ++row) {
    const RotaryAngles& turn = angles[static_cast<size_t>(block.row + row)];
    kernels().norm_rotary(block.values + static_cast<ptrdiff_t>(row) * block.columns, scale.data(),
                          block.columns, config_.rms_norm_eps, turn.cos, turn.sin, rotary_.half(), factor,
                          out + (block.row + row) * stride);
  }
}

template <typename T>
void TextModel<T>::finish_linear_projection(const ProductBlock& block) {
  const int64_t value_heads = config_.linear_num_value_heads;
  const int64_t value_size = value_heads * kDeltaHeadDim;
  const int64_t channels =
      2 * static_cast<int64_t>(config_.linear_num_key_heads) * kDeltaHeadDim + value_size;
  for (int row = 0; row < block.rows; ++row) {
    const float* values = block.values + static_cast<ptrdiff_t>(row) * block.columns;
    const int64_t at = block.row + row;
    if (block.role == kBa)
      std::copy_n(values, block.columns, ba_.data() + at * 2 * value_heads);
    else if (block.role == kZ)
      std::copy_n(values, block.columns, gate_.data() + at * value_size + block.index);
    else
      std::copy_n(values, block.columns, qkv_.data() + at * channels + block.index);
  }
}

template <typename T>
void TextModel<T>::embed(const model::PackedBatch& batch, const model::SharedLayout& layout) {
  const PartTimer timer(machine_.part_clock, Part::kEmbeddings);
  int64_t row = 0;
  const int64_t n = config_.hidden_size;
  const auto append = [&](std::span<const int32_t> ids) {
    for (const int32_t id : ids) read_floats(*weights_.embed_tokens, id * n, n, hidden_.data() + n * row++);
  };
  const auto append_prefix = [&](const model::QuestionGroup& group) {
    float* first = hidden_.data() + n * row;
    append(group.prefix);
    for (const model::MediaBlock& block : group.media)
      std::copy_n(block.features, block.tokens() * n, first + block.first * n);
  };
  size_t tree = 0;
  for (const model::QuestionGroup& group : batch.groups) {
    const bool shared = layout.trees[tree].tails.size() > 1;
    if (shared) append_prefix(group);
    for (const auto& tail : group.tails) {
      if (!shared) append_prefix(group);
      append(tail);
    }
    tree += shared ? 1 : group.tails.size();
  }
  if (observer_) observer_("embeddings", {hidden_.data(), hidden_size(layout.rows)});
}

template <typename T>
void TextModel<T>::expand(const model::SharedLayout& shared, const model::QuestionLayout& questions) {
  const std::vector<model::RowCopy> copies = model::expansion(shared, questions);
  if (copies.empty()) return;
  spare_hidden_.reserve(hidden_size(questions.rows + kPaddingRows));
  machine_.pool.parallel_for(copies.size(), [&](size_t i, int) {
    const int64_t n = config_.hidden_size;
    std::copy_n(hidden_.data() + copies[i].from * n, copies[i].rows * n,
                spare_hidden_.data() + copies[i].to * n);
  });
  std::swap(hidden_, spare_hidden_);
}

template <typename T>
void TextModel<T>::gather_last_hidden(const Rows& rows) {
  const int64_t n = config_.hidden_size;
  float* to = last_hidden_.data();
  for (const model::RowRun& run : rows.questions)
    to = std::copy_n(hidden_.data() + (run.end() - 1) * n, n, to);
}

template <typename T>
void TextModel<T>::count(const model::QuestionLayout& questions, const model::SharedLayout& shared,
                         const model::ExecutorOptions& options) {
  const auto question_count = static_cast<uint64_t>(questions.questions.size());
  const auto layers = static_cast<uint64_t>(weights_.layers.size());
  const uint64_t full_layers = layers - shared_layers_ - (options.cut_last_layer ? 1 : 0);
  ++counters_.batches;
  counters_.questions += question_count;
  counters_.tokens += static_cast<uint64_t>(questions.rows);
  counters_.layer_rows_full += layers * static_cast<uint64_t>(questions.rows);
  counters_.layer_rows += shared_layers_ * static_cast<uint64_t>(shared.rows) +
                          full_layers * static_cast<uint64_t>(questions.rows) +
                          (options.cut_last_layer ? question_count : 0);
}

template <typename T>
void TextModel<T>::reserve(const model::QuestionLayout& layout, int64_t questions) {
  const auto padded = static_cast<size_t>(layout.rows + kPaddingRows);
  const auto padded_questions = static_cast<size_t>(questions + kPaddingRows);
  const auto hidden = static_cast<size_t>(config_.hidden_size);
  const auto heads_size = static_cast<size_t>(config_.num_attention_heads * config_.head_dim);
  const auto kv_size = static_cast<size_t>(config_.num_key_value_heads * config_.head_dim);
  const auto value_size = static_cast<size_t>(config_.linear_num_value_heads * kDeltaHeadDim);
  const auto channels = value_size + static_cast<size_t>(2 * config_.linear_num_key_heads * kDeltaHeadDim);
  hidden_.reserve(padded * hidden);
  last_hidden_.reserve(padded_questions * hidden);
  normed_.reserve(padded * hidden);
  last_normed_.reserve(padded_questions * hidden);
  query_.reserve(padded * heads_size);
  qkv_.reserve(padded * channels);
  key_.reserve(padded * kv_size);
  value_.reserve(padded * kv_size);
  gate_.reserve(padded * std::max(value_size, heads_size));
  ba_.reserve(padded * 2 * static_cast<size_t>(config_.linear_num_value_heads));
  mixed_.reserve(padded * std::max(value_size, heads_size));
  mlp_.reserve(padded * static_cast<size_t>(config_.intermediate_size));
}

template <typename T>
void TextModel<T>::place(const model::PackedBatch& batch, int64_t longest) {
  rotary_.reserve(longest);  // a block takes fewer positions than it has tokens
  angles_.clear();
  last_angles_.clear();
  media_angles_.clear();
  size_t media_tokens = 0;
  for (const model::QuestionGroup& group : batch.groups)
    for (const model::MediaBlock& block : group.media) media_tokens += static_cast<size_t>(block.tokens());
  media_angles_.reserve(media_tokens * 2 * static_cast<size_t>(rotary_.half()));  // angles_ points into it
  std::vector<RotaryAngles> prefix;
  for (const model::QuestionGroup& group : batch.groups) {
    const model::PrefixPositions positions = model::prefix_positions(group);
    prefix.clear();
    for (const model::Position& position : positions.tokens) prefix.push_back(angles_of(position));
    for (const auto& tail : group.tails) {
      angles_.insert(angles_.end(), prefix.begin(), prefix.end());
      for (size_t i = 0; i < tail.size(); ++i)
        angles_.push_back(rotary_.at(positions.next + static_cast<int64_t>(i)));
      last_angles_.push_back(angles_.back());
    }
  }
}

template <typename T>
RotaryAngles TextModel<T>::angles_of(const model::Position& position) {
  if (position.is_text()) return rotary_.at(position.time);
  const size_t first = media_angles_.size();
  const auto axis = [&](int i) { return model::rotary_axis(position, i, config_.mrope_section); };
  for (int i = 0; i < rotary_.half(); ++i) media_angles_.push_back(rotary_.cos(axis(i))[i]);
  for (int i = 0; i < rotary_.half(); ++i) media_angles_.push_back(rotary_.sin(axis(i))[i]);
  return {media_angles_.data() + first, media_angles_.data() + first + rotary_.half()};
}

template class TextModel<float>;
template class TextModel<Bf16>;

}  // namespace d3::cpu
