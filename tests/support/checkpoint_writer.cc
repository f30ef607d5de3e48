#include "support/checkpoint_writer.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <stdexcept>

#include "checkpoint/sha256.h"
#include "support/json_build.h"
#include "support/noise.h"

namespace d3::test {
namespace fs = std::filesystem;
namespace {

int64_t element_size(const std::string& dtype) { return dtype == "F32" ? 4 : 2; }

int64_t element_count(const TensorSpec& tensor) {
  int64_t count = 1;
  for (const int64_t size : tensor.shape) count *= size;
  return count;
}

template <typename Element>
std::string bytes_of(const std::vector<Element>& values) {
  std::string bytes(values.size() * sizeof(Element), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string tensor_bytes(const TensorSpec& tensor) {
  const auto count = static_cast<size_t>(element_count(tensor));
  const std::vector<float> values = noise(tensor.seed, count, tensor.scale, tensor.centre);
  if (tensor.dtype == "F32") return bytes_of(values);
  if (tensor.dtype != "BF16" && tensor.dtype != "F16") throw std::invalid_argument("dtype " + tensor.dtype);
  std::vector<uint16_t> halves(count);
  std::transform(values.begin(), values.end(), halves.begin(),
                 tensor.dtype == "F16" ? to_float16 : to_bfloat16);
  return bytes_of(halves);
}

json::Value header_of(const std::vector<TensorSpec>& tensors) {
  json::Object members;
  int64_t at = 0;
  for (const TensorSpec& tensor : tensors) {
    json::Array shape;
    for (const int64_t size : tensor.shape) shape.push_back(number(size));
    const int64_t end = at + element_count(tensor) * element_size(tensor.dtype);
    members.push_back({tensor.name, object({{"dtype", string(tensor.dtype)},
                                            {"shape", array(std::move(shape))},
                                            {"data_offsets", array({number(at), number(end)})}})});
    at = end;
  }
  return json::Value(std::move(members));
}

std::string five_digits(int value) {
  const std::string digits = std::to_string(value);
  return std::string(5 - digits.size(), '0') + digits;
}

void write_weights(const CheckpointSpec& spec, const fs::path& directory) {
  std::vector<TensorSpec> tensors = spec.tensors;
  for (TensorSpec& tensor : tensors) tensor.name = spec.prefix + tensor.name;
  if (spec.shards == 1) {
    write_safetensors(directory / "model.safetensors", tensors);
    return;
  }
  const auto shards = static_cast<size_t>(spec.shards);
  const size_t per_shard = (tensors.size() + shards - 1) / shards;
  json::Object weight_map;
  int64_t total = 0;
  for (size_t shard = 0; shard < shards; ++shard) {
    const std::string file = "model-" + five_digits(static_cast<int>(shard) + 1) + "-of-" +
                             five_digits(spec.shards) + ".safetensors";
    const auto begin = tensors.begin() + static_cast<ptrdiff_t>(std::min(shard * per_shard, tensors.size()));
    const auto end =
        tensors.begin() + static_cast<ptrdiff_t>(std::min((shard + 1) * per_shard, tensors.size()));
    total += write_safetensors(directory / file, {begin, end});
    for (auto tensor = begin; tensor != end; ++tensor) weight_map.push_back({tensor->name, string(file)});
  }
  const json::Value index = object({{"metadata", object({{"total_size", number(total)}})},
                                    {"weight_map", json::Value(std::move(weight_map))}});
  write_file(directory / "model.safetensors.index.json", dump_json(index, 1) + "\n");
}

void write_manifest(const std::string& name, const fs::path& directory) {
  std::map<std::string, fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string file = entry.path().filename();
    if (file != "MODEL_MANIFEST.json") files[file] = entry.path();
  }
  json::Object digests, sizes;
  for (const auto& [file, path] : files) {
    digests.push_back({file, string(checkpoint::to_hex(checkpoint::sha256_of_file(path)))});
    sizes.push_back({file, number(static_cast<int64_t>(fs::file_size(path)))});
  }
  const json::Value manifest = object({{"schema", string("d3-package-manifest/1")},
                                       {"model_name", string("d3-" + name)},
                                       {"repo_id", string("vllm-sr/d3-" + name)},
                                       {"files_sha256", json::Value(std::move(digests))},
                                       {"files_bytes", json::Value(std::move(sizes))}});
  write_file(directory / "MODEL_MANIFEST.json", dump_json(manifest, 1) + "\n");
}

auto find_tensor(std::vector<TensorSpec>& tensors, std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const TensorSpec& t) { return t.name == name; });
  if (found == tensors.end()) throw std::out_of_range(std::string(name));
  return found;
}

}  // namespace

TensorSpec& CheckpointSpec::tensor(std::string_view tensor_name) {
  return *find_tensor(tensors, tensor_name);
}

void CheckpointSpec::erase_tensor(std::string_view tensor_name) {
  tensors.erase(find_tensor(tensors, tensor_name));
}

int64_t write_safetensors(const fs::path& path, const std::vector<TensorSpec>& tensors) {
  std::string header = dump_json(header_of(tensors), 0);
  header.append((8 - header.size() % 8) % 8, ' ');
  std::string data;
  for (const TensorSpec& tensor : tensors) data += tensor_bytes(tensor);
  write_raw_safetensors(path, header, data);
  return static_cast<int64_t>(data.size());
}

void write_raw_safetensors(const fs::path& path, std::string_view header, std::string_view data) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(static_cast<uint64_t>(header.size()) >> shift);
  bytes += header;
  bytes += data;
  write_file(path, bytes);
}

void write_checkpoint(const CheckpointSpec& spec, const fs::path& tokenizer_directory,
                      const fs::path& directory) {
  fs::create_directories(directory);
  for (const fs::directory_entry& entry : fs::directory_iterator(tokenizer_directory)) {
    const fs::path name = entry.path().filename();
    if (name != "codes.json") write_file(directory / name, read_file(entry.path()));
  }
  write_file(directory / "config.json", dump_json(spec.config, 2) + "\n");
  write_file(directory / "decision_config.json", dump_json(spec.decision_config, 1) + "\n");
  write_weights(spec, directory);
  write_safetensors(directory / "readout.safetensors", spec.readout);
  if (spec.manifest) write_manifest(spec.name, directory);
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return bytes;
}

}  // namespace d3::test
