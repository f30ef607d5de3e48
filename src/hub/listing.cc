#include "hub/listing.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/fields.h"
#include "checkpoint/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/messages.h"
#include "hub/model_name.h"
#include "json/number.h"
#include "json/parse.h"

namespace d3::hub {
namespace {

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kManifest = "MODEL_MANIFEST.json";

constexpr std::array<const char*, 5> kRequired = {"config.json", "decision_config.json", "tokenizer.json",
                                                  "tokenizer_config.json", "readout.safetensors"};
constexpr std::array<const char*, 5> kOptional = {"vocab.json", "merges.txt", "chat_template.jinja",
                                                  "preprocessor_config.json",
                                                  "video_preprocessor_config.json"};

constexpr size_t kMaxEtagLength = 200;

/// The blob's name must be one file in one directory.
bool is_blob_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxEtagLength && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                  c == '_' || c == '.';
         });
}

Error bad_listing(const std::string& what) {
  return {ErrorCode::kUnavailable, "the hub's list of files cannot be used: " + what};
}

std::optional<uint64_t> size_in(const json::Value& object) {
  const json::Value* size = object.find("size");
  if (size == nullptr || !size->is_number()) return std::nullopt;
  const auto value = json::to_int64(size->as_number());
  if (!value || *value < 0) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

std::string text_in(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : "";
}

RemoteFile read_file(const json::Value& entry) {
  RemoteFile file{.path = text_in(entry, "rfilename"), .etag = {}, .bytes = {}};
  if (!checkpoint::stays_inside(file.path))
    throw bad_listing(fmt::format("{} is no file's name", checkpoint::in_quotes(file.path)));
  const json::Value* lfs = entry.find("lfs");
  const bool large = lfs != nullptr && lfs->is_object();
  file.etag = large ? text_in(*lfs, "sha256") : text_in(entry, "blobId");
  if (!is_blob_name(file.etag)) file.etag.clear();
  file.bytes = size_in(large ? *lfs : entry);
  return file;
}

Error missing(const std::string& repo, const std::string& file) {
  return {ErrorCode::kBadCheckpoint,
          fmt::format("{} holds no checkpoint of a decision model: {} is missing", repo, file), file};
}

}  // namespace

const RemoteFile* Listing::find(std::string_view path) const {
  const auto found = std::ranges::find(files, path, &RemoteFile::path);
  return found == files.end() ? nullptr : &*found;
}

Listing parse_listing(std::string_view body) {
  json::Value root;
  try {
    root = json::parse(body);
  } catch (const Error& error) {
    throw bad_listing(error.what());
  }
  Listing listing{.commit = text_in(root, "sha"), .files = {}};
  if (!is_commit(listing.commit)) throw bad_listing("it names no commit");
  const json::Value* siblings = root.find("siblings");
  if (siblings == nullptr || !siblings->is_array()) throw bad_listing("it has no \"siblings\"");
  for (const json::Value& entry : siblings->as_array()) listing.files.push_back(read_file(entry));
  return listing;
}

std::string etag_from_header(std::string_view header) {
  if (header.starts_with("W/")) header.remove_prefix(2);
  if (header.size() >= 2 && header.front() == '"' && header.back() == '"')
    header = header.substr(1, header.size() - 2);
  return is_blob_name(header) ? std::string(header) : std::string();
}

std::vector<std::string> leading_files(const Listing& listing, const std::string& repo) {
  for (const char* name : kRequired)
    if (listing.find(name) == nullptr) throw missing(repo, name);
  std::vector<std::string> files;
  if (listing.find(kManifest) != nullptr) files.emplace_back(kManifest);
  if (listing.find(kWeights) != nullptr) return files;
  if (listing.find(kIndex) == nullptr) throw missing(repo, kWeights);
  files.emplace_back(kIndex);
  return files;
}

std::vector<std::string> needed_files(const Listing& listing, const std::string& repo,
                                      const std::optional<std::string>& manifest,
                                      const std::optional<std::string>& index) {
  std::set<std::string> needed(kRequired.begin(), kRequired.end());
  for (const char* name : kOptional)
    if (listing.find(name) != nullptr) needed.insert(name);
  if (index) {
    needed.insert(kIndex);
    for (const std::string& shard : shards_of_index(*index, kIndex)) needed.insert(shard);
  } else {
    needed.insert(kWeights);
  }
  if (manifest) {
    needed.insert(kManifest);
    for (const auto& file : checkpoint::parse_manifest(*manifest, kManifest).files) needed.insert(file.name);
  }
  for (const std::string& name : needed)
    if (listing.find(name) == nullptr) throw missing(repo, name);
  return {needed.begin(), needed.end()};
}

std::vector<std::string> shards_of_index(std::string_view index, const std::string& file) {
  const std::filesystem::path path(file);
  const json::Value root = checkpoint::parse_object(index, path);
  const checkpoint::Fields fields(root, path);
  const json::Value& map = fields.at("weight_map");
  if (!map.is_object()) throw fields.unexpected("weight_map", "an object");
  std::set<std::string> shards;
  for (const json::Member& member : map.as_object()) {
    if (!member.value.is_string() || !checkpoint::stays_inside(member.value.as_string()))
      throw fields.error("weight_map", "names what is no file");
    shards.insert(member.value.as_string());
  }
  return {shards.begin(), shards.end()};
}

}  // namespace d3::hub
