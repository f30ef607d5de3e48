// checkpoint/safetensors.h: the header of a safetensors file: 8 bytes of its length (little-endian), JSON
// {name: {dtype, shape, data_offsets: [begin, end]}, "__metadata__"?: {name: text}}, then the tensors' bytes.
// https://huggingface.co/docs/safetensors
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace d3::checkpoint {

/// One tensor as its header describes it.
struct TensorEntry {
  std::string name;
  std::string dtype;  ///< as written: "BF16"
  std::vector<int64_t> shape;
  uint64_t begin = 0;  ///< of its bytes in the file
  uint64_t end = 0;
};

/// The tensors of a file in the order of their bytes. Only the header is read. Checked: the header's length
/// (at most 100,000,000 bytes, as the format's own reader has it) and JSON, distinct names, known dtypes,
/// shapes of whole numbers whose product does not overflow, bytes that fit dtype and shape, begin at a
/// multiple of the element's size and fill the rest of the file without gap or overlap. Throws
/// Error(kBadCheckpoint) naming `path` and the tensor.
std::vector<TensorEntry> read_safetensors_header(std::span<const std::byte> file,
                                                 const std::filesystem::path& path);

/// "[255, 128]"
std::string shape_text(std::span<const int64_t> shape);

}  // namespace d3::checkpoint
