#include "checkpoint/weights.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "checkpoint/expected_tensors.h"
#include "checkpoint/fields.h"
#include "checkpoint/messages.h"
#include "checkpoint/safetensors.h"

namespace d3::checkpoint {
namespace {

namespace fs = std::filesystem;

/// tensor -> shard, as an index has it.
using ShardOfTensor = std::map<std::string, std::string, std::less<>>;

std::optional<Dtype> dtype_of(std::string_view name) {
  if (name == "BF16") return Dtype::kBfloat16;
  if (name == "F32") return Dtype::kFloat32;
  if (name == "F16") return Dtype::kFloat16;
  return std::nullopt;
}

/// A tensor found in a weight file.
struct Found {
  TensorEntry entry;
  size_t file = 0;   ///< index into the mapped files
  std::string name;  ///< without the prefix
};

class WeightReader {
 public:
  explicit WeightReader(const Folder& folder) : folder_(folder) {}

  Weights read(const Config& config) {
    open_files();
    sort_out_names();
    const bool has_vision = found_.lower_bound("visual.") != found_.end();
    std::vector<ExpectedTensor> expected = expected_text_tensors(config.text);
    if (has_vision && config.vision)
      for (ExpectedTensor& tensor : expected_vision_tensors(*config.vision))
        expected.push_back(std::move(tensor));
    check_names(expected);
    Weights weights;
    for (ExpectedTensor& tensor : expected) weights.tensors.emplace(tensor.name, view_of(tensor));
    weights.files = std::move(files_);
    weights.has_vision = has_vision;
    return weights;
  }

 private:
  void open_files() {
    constexpr const char* kWhole = "model.safetensors";
    constexpr const char* kIndex = "model.safetensors.index.json";
    list_ = folder_.path() / kWhole;
    if (has_file(folder_, kWhole)) {
      open_file(kWhole);
      return;
    }
    if (!has_file(folder_, kIndex))
      throw bad_file(list_, fmt::format("is missing, and there is no {}", kIndex));
    list_ = folder_.path() / kIndex;
    const ShardOfTensor shard_of = read_index();
    std::map<std::string, size_t> shards;
    for (const auto& [tensor, shard] : shard_of)
      if (shards.emplace(shard, files_.size()).second) open_file(shard);
    check_index(shard_of, shards);
  }

  void open_file(const std::string& name) {
    MappedFile file(folder_, name);
    const fs::path path = folder_.path() / name;
    for (TensorEntry& entry : read_safetensors_header(file.bytes(), path))
      entries_.push_back({std::move(entry), files_.size(), {}});
    paths_.push_back(path);
    files_.push_back(std::move(file));
  }

  ShardOfTensor read_index() const {
    const json::Value root =
        parse_object(read_text_file(folder_, list_.filename().string(), kMaxJsonBytes), list_);
    const Fields fields(root, list_);
    const json::Value& map = fields.at("weight_map");
    if (!map.is_object()) throw fields.unexpected("weight_map", "an object");
    ShardOfTensor shard_of;
    for (const json::Member& member : map.as_object()) {
      const bool is_name = member.value.is_string() && stays_inside(member.value.as_string()) &&
                           fs::path(member.value.as_string()).filename() == member.value.as_string();
      if (!is_name)
        throw fields.error(fmt::format("weight_map {}", in_quotes(member.key)),
                           fmt::format("is {}; expected the name of a file", shown(member.value)));
      shard_of.emplace(member.key, member.value.as_string());
    }
    return shard_of;
  }

  /// Every tensor of the index is in the shard it names, and no shard holds another.
  void check_index(const ShardOfTensor& shard_of, const std::map<std::string, size_t>& shards) const {
    for (const Found& found : entries_) {
      const auto listed = shard_of.find(found.entry.name);
      if (listed == shard_of.end() || shards.at(listed->second) != found.file)
        throw bad_tensor(paths_[found.file], found.entry.name,
                         fmt::format("is not listed for this file in {}", list_.filename().string()));
    }
    if (entries_.size() == shard_of.size()) return;
    std::set<std::string_view> present;
    for (const Found& found : entries_) present.insert(found.entry.name);
    for (const auto& [tensor, shard] : shard_of)
      if (!present.contains(tensor))
        throw bad_tensor(folder_.path() / shard, tensor,
                         fmt::format("is missing; {} lists it", list_.filename().string()));
  }

  /// Fills found_ with the tensors that matter by their names without the prefix.
  void sort_out_names() {
    constexpr std::string_view kPrefix = "model.";
    const Found* first = nullptr;
    for (Found& found : entries_) {
      const std::string_view full = found.entry.name;
      const bool prefixed = full.starts_with(kPrefix);
      const std::string_view name = prefixed ? full.substr(kPrefix.size()) : full;
      if (name.starts_with("mtp.")) continue;
      if (!name.starts_with("language_model.") && !name.starts_with("visual."))
        throw bad_tensor(paths_[found.file], full, "is not a part of a decision model");
      found.name = name;
      if (first == nullptr) first = &found;
      if (prefixed != first->entry.name.starts_with(kPrefix))
        throw bad_tensor(paths_[found.file], full,
                         fmt::format("mixes prefixes with tensor {}: all names begin with \"model.\" or none",
                                     in_quotes(first->entry.name)));
      found_.emplace(found.name, &found);
    }
    if (first != nullptr && first->entry.name.starts_with(kPrefix)) prefix_ = kPrefix;
  }

  void check_names(const std::vector<ExpectedTensor>& expected) const {
    size_t missing = 0;
    const ExpectedTensor* first_missing = nullptr;
    std::set<std::string_view> wanted;
    for (const ExpectedTensor& tensor : expected) {
      wanted.insert(tensor.name);
      if (found_.contains(tensor.name)) continue;
      if (missing++ == 0) first_missing = &tensor;
    }
    for (const auto& [name, found] : found_)
      if (!wanted.contains(name))
        throw bad_tensor(paths_[found->file], found->entry.name,
                         fmt::format("({} {}) is one that config.json does not call for", found->entry.dtype,
                                     shape_text(found->entry.shape)));
    if (first_missing == nullptr) return;
    const std::string others = missing > 1 ? fmt::format(", as are {} more", missing - 1) : "";
    throw bad_tensor(
        list_, prefix_ + first_missing->name,
        fmt::format("is missing{}; config.json calls for {}", others, shape_text(first_missing->shape)));
  }

  TensorView view_of(const ExpectedTensor& expected) const {
    const Found& found = *found_.at(expected.name);
    const fs::path& path = paths_[found.file];
    const std::optional<Dtype> dtype = dtype_of(found.entry.dtype);
    if (!dtype)
      throw bad_tensor(path, found.entry.name,
                       fmt::format("has dtype {}; expected BF16, F16 or F32", found.entry.dtype));
    if (found.entry.shape != expected.shape)
      throw bad_tensor(path, found.entry.name,
                       fmt::format("has shape {}; config.json calls for {}", shape_text(found.entry.shape),
                                   shape_text(expected.shape)));
    const auto data =
        files_[found.file].bytes().subspan(found.entry.begin, found.entry.end - found.entry.begin);
    return {expected.name, *dtype, expected.shape, data};
  }

  const Folder& folder_;
  fs::path list_;  ///< the file that says which tensors there are: the single weight file or the index
  std::vector<fs::path> paths_;
  std::vector<MappedFile> files_;
  std::vector<Found> entries_;
  std::map<std::string, const Found*, std::less<>> found_;
  std::string prefix_;
};

}  // namespace

Weights open_weights(const Folder& folder, const Config& config) { return WeightReader(folder).read(config); }

Readout open_readout(const Folder& folder, int hidden_size) {
  constexpr const char* kName = "readout.safetensors";
  const fs::path path = folder.path() / kName;
  Readout readout{MappedFile(folder, kName), {}};
  const std::vector<int64_t> shape = {kCodeCount, hidden_size};
  const std::vector<TensorEntry> entries = read_safetensors_header(readout.file.bytes(), path);
  for (const TensorEntry& entry : entries) {
    if (entry.name != "weight") throw bad_tensor(path, entry.name, "is unknown; expected \"weight\" alone");
    if (entry.dtype != "F32")
      throw bad_tensor(path, entry.name, fmt::format("has dtype {}; expected F32", entry.dtype));
    if (entry.shape != shape)
      throw bad_tensor(path, entry.name,
                       fmt::format("has shape {}; expected {}, hidden_size columns for each code",
                                   shape_text(entry.shape), shape_text(shape)));
    readout.weight = {entry.name, Dtype::kFloat32, shape,
                      readout.file.bytes().subspan(entry.begin, entry.end - entry.begin)};
  }
  if (entries.empty())
    throw bad_tensor(path, "weight", fmt::format("is missing; expected F32 {}", shape_text(shape)));
  return readout;
}

}  // namespace d3::checkpoint
