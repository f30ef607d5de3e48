// checkpoint/checkpoint.h: a checkpoint, opened, checked and memory-mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder.h"
#include "checkpoint/config.h"

namespace d3::checkpoint {

enum class Dtype { kFloat32, kBfloat16, kFloat16 };

/// A tensor inside a mapped file: row-major, little-endian. `data` is aligned as the file has it (at least to
/// the element's size) and lives as long as its Checkpoint.
struct TensorView {
  std::string name;  ///< without the file's prefix: "language_model.layers.0.mlp.up_proj.weight"
  Dtype dtype = Dtype::kFloat32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
};

/// How much of MODEL_MANIFEST.json is verified: SHA-256 of files up to 64 MiB and the size of larger ones
/// (kFast), SHA-256 of all (kFull), or nothing (kNone).
enum class Verify { kFast, kFull, kNone };

/// Checked on open: every file's presence, JSON and sizes; that the tensor names are exactly those of the
/// configuration (one prefix, none missing, none extra but `mtp.*`), with their dtypes (BF16, F16 or
/// F32) and shapes; the readout; the manifest. Not checked here: answer_codes.h. All of it before any weight
/// is read.
class Checkpoint {
 public:
  /// Throws Error(kBadCheckpoint) naming the file and the tensor or key with what was expected and found,
  /// Error(kUnsupported) for a valid configuration that no kernel here is made for, Error(kNotFound) when
  /// there is no directory. A weight file that is cut short while it is open ends the process (SIGBUS).
  static Checkpoint open(const Folder& folder, Verify verify = Verify::kFast);

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  const std::filesystem::path& directory() const;  ///< the folder's path
  const Config& config() const;
  const DecisionConfig& decision() const;
  bool has_vision() const;  ///< the vision tower's tensors are there

  /// The tensor of that (prefix-less) name; Error(kBadCheckpoint) when the checkpoint has none.
  const TensorView& tensor(std::string_view name) const;

  /// readout.safetensors: `weight`, F32 [255, hidden_size].
  const TensorView& readout() const;

  /// From the manifest, empty when there is none.
  const std::string& model_name() const;
  const std::string& repo_id() const;

  /// Tells the kernel that the pages of a tensor are no longer needed in memory (madvise); the view stays
  /// valid.
  void release_pages(const TensorView& tensor) const;

 private:
  struct Impl;
  explicit Checkpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace d3::checkpoint
