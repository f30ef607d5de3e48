// checkpoint/weights.h: the weight files of a checkpoint directory, mapped and checked against its
// configuration.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/config.h"
#include "checkpoint/file.h"

namespace d3::checkpoint {

struct Weights {
  std::vector<MappedFile> files;  ///< the views point into these
  std::map<std::string, TensorView, std::less<>> tensors;
  bool has_vision = false;
};

/// Maps the folder's model.safetensors or, without it, the shards of model.safetensors.index.json, and reads
/// their headers. The names, all with "model." before them or all without, must be exactly
/// expected_text_tensors(), and expected_vision_tensors() unless there is no `visual.` tensor at all; `mtp.`
/// is passed over. Dtypes are BF16, F16 or F32. Throws Error(kBadCheckpoint) naming the file and the tensor
/// with what was expected and found.
Weights open_weights(const Folder& folder, const Config& config);

/// readout.safetensors: one tensor, `weight`, F32 [255, hidden_size].
struct Readout {
  MappedFile file;
  TensorView weight;
};
Readout open_readout(const Folder& folder, int hidden_size);

}  // namespace d3::checkpoint
