#include "hub/cache.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "checkpoint/file.h"
#include "hub/file_lock.h"
#include "hub/listing.h"

namespace d3::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "models--";

Error cannot(const std::string& what, const fs::path& path, const std::string& why) {
  return {ErrorCode::kUnavailable, fmt::format("cannot {} {}: {}", what, path.string(), why), path.string()};
}

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw cannot("make", path, error.message());
}

std::string folder_name(const std::string& repo) {
  std::string name(kPrefix);
  for (const char c : repo) name += c == '/' ? "--" : std::string(1, c);
  return name;
}

std::string repo_of_folder(const std::string& name) {
  std::string repo;
  for (size_t at = kPrefix.size(); at < name.size(); ++at) {
    const bool separator = name.compare(at, 2, "--") == 0;
    repo += separator ? '/' : name[at];
    if (separator) ++at;
  }
  return repo;
}

/// A ref's text; the Python client writes the commit alone.
std::optional<std::string> read_commit(const fs::path& path) {
  std::ifstream file(path);
  std::string commit;
  if (!(file >> commit) || !is_commit(commit)) return std::nullopt;
  return commit;
}

std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    paths.push_back(at->path());
  std::ranges::sort(paths);
  return paths;
}

/// Every file below a directory; directories behind links are not entered.
std::vector<fs::path> files_below(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (!at->is_directory(error) || at->is_symlink(error)) paths.push_back(at->path());
  return paths;
}

/// What the links of a snapshot lead to, and files that lie in it themselves.
std::set<fs::path> contents(const fs::path& snapshot) {
  std::set<fs::path> paths;
  std::error_code error;
  for (const fs::path& file : files_below(snapshot)) {
    const fs::path target = fs::is_symlink(file) ? fs::read_symlink(file, error) : fs::path();
    paths.insert(target.empty() ? file : (file.parent_path() / target).lexically_normal());
  }
  return paths;
}

uint64_t size_of(const std::set<fs::path>& files) {
  uint64_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code error;
    const uint64_t size = fs::file_size(file, error);
    if (!error) bytes += size;
  }
  return bytes;
}

std::optional<std::string> read_text(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  return checkpoint::read_text_file(path, checkpoint::kMaxJsonBytes);
}

/// A snapshot as a listing: so that one rule says what is needed.
Listing listing_of(const fs::path& snapshot) {
  Listing listing;
  for (const fs::path& file : files_below(snapshot)) {
    std::error_code error;
    if (fs::exists(file, error))  // its blob is there
      listing.files.push_back(
          {.path = file.lexically_relative(snapshot).generic_string(), .etag = {}, .bytes = {}});
  }
  return listing;
}

std::vector<FileLock> lock_all(const ModelCache& model, const std::string& repo) {
  std::vector<FileLock> locks;
  for (const fs::path& path : entries(model.locks())) {
    auto lock = FileLock::try_lock(path);
    if (!lock)
      throw Error(ErrorCode::kUnavailable, fmt::format("{} is being pulled by another process", repo),
                  "model");
    locks.push_back(std::move(*lock));
  }
  return locks;
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw cannot("remove", path, error.message());
}

/// Removes some snapshots, their refs and the blobs that no other snapshot has. Returns the blobs' bytes.
uint64_t remove_snapshots(const ModelCache& model, const std::set<std::string>& commits) {
  for (const auto& [name, commit] : model.refs())
    if (commits.contains(commit)) remove_tree(model.directory() / "refs" / name);
  std::set<fs::path> freed;
  for (const std::string& commit : commits) {
    freed.merge(contents(model.snapshot(commit)));
    remove_tree(model.snapshot(commit));
  }
  for (const fs::path& snapshot : entries(model.directory() / "snapshots"))
    for (const fs::path& kept : contents(snapshot)) freed.erase(kept);
  const uint64_t bytes = size_of(freed);
  for (const fs::path& file : freed)
    if (file.parent_path() == model.directory() / "blobs") remove_tree(file);
  return bytes;
}

}  // namespace

ModelCache::ModelCache(const fs::path& cache, const std::string& repo)
    : directory_(cache / folder_name(repo)), locks_(cache / ".locks" / folder_name(repo)) {}

std::optional<std::string> ModelCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  return read_commit(directory_ / "refs" / revision);
}

void ModelCache::set_ref(const std::string& revision, const std::string& commit) const {
  if (revision == commit || commit_of(revision) == commit) return;
  const fs::path path = directory_ / "refs" / revision;
  make_directories(path.parent_path());
  const fs::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  std::ofstream file(temporary, std::ios::trunc);
  file << commit;
  file.close();
  std::error_code error;
  if (file) fs::rename(temporary, path, error);
  if (file && !error) return;
  const std::string why = error ? error.message() : std::strerror(errno);
  fs::remove(temporary, error);
  throw cannot("write", path, why);
}

std::vector<std::pair<std::string, std::string>> ModelCache::refs() const {
  std::vector<std::pair<std::string, std::string>> refs;
  const fs::path directory = directory_ / "refs";
  for (const fs::path& file : files_below(directory))
    if (const auto commit = read_commit(file))
      refs.emplace_back(file.lexically_relative(directory).generic_string(), *commit);
  std::ranges::sort(refs);
  return refs;
}

void ModelCache::make_blob_directory() const { make_directories(directory_ / "blobs"); }

void ModelCache::link(const std::string& commit, const std::string& path, const std::string& etag) const {
  const fs::path place = snapshot(commit) / path;
  make_directories(place.parent_path());
  const fs::path target = blob(etag).lexically_relative(place.parent_path());
  std::error_code error;
  if (fs::read_symlink(place, error) == target) return;
  const fs::path temporary = place.string() + fmt::format(".{}.tmp", ::getpid());
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, place, error);
  if (error) throw cannot("link", place, error.message());
}

bool ModelCache::has(const std::string& commit, const std::string& path,
                     std::optional<uint64_t> bytes) const {
  std::error_code error;
  const uint64_t size = fs::file_size(snapshot(commit) / path, error);
  return !error && (!bytes || size == *bytes);
}

bool is_whole(const fs::path& snapshot) {
  try {
    const Listing listing = listing_of(snapshot);
    const auto leading = leading_files(listing, "");
    const bool sharded = std::ranges::find(leading, "model.safetensors.index.json") != leading.end();
    needed_files(listing, "", read_text(snapshot / "MODEL_MANIFEST.json"),
                 sharded ? read_text(snapshot / "model.safetensors.index.json") : std::nullopt);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<CachedModel> list_models(const fs::path& cache) {
  std::vector<CachedModel> models;
  for (const fs::path& directory : entries(cache)) {
    const std::string folder = directory.filename().string();
    if (!folder.starts_with(kPrefix)) continue;
    const std::string repo = repo_of_folder(folder);
    const auto refs = ModelCache(cache, repo).refs();
    for (const fs::path& snapshot : entries(directory / "snapshots")) {
      std::error_code error;
      if (!fs::exists(snapshot / "decision_config.json", error)) continue;
      CachedModel model{.repo = repo,
                        .revision = snapshot.filename().string(),
                        .commit = snapshot.filename().string(),
                        .snapshot = snapshot,
                        .bytes = size_of(contents(snapshot)),
                        .whole = is_whole(snapshot)};
      const auto ref = std::ranges::find(refs, model.commit, [](const auto& entry) { return entry.second; });
      if (ref != refs.end()) model.revision = ref->first;
      models.push_back(std::move(model));
    }
  }
  return models;
}

uint64_t remove_model(const fs::path& cache, const std::string& repo,
                      const std::optional<std::string>& revision) {
  const ModelCache model(cache, repo);
  const auto commit = revision ? model.commit_of(*revision) : std::nullopt;
  std::set<std::string> commits;
  for (const CachedModel& known : list_models(cache))
    if (known.repo == repo && (!revision || known.commit == commit)) commits.insert(known.commit);
  if (commits.empty())
    throw Error(ErrorCode::kNotFound,
                fmt::format("the cache has no decision model {} (see `d3 list`)",
                            to_text({.repo = repo, .revision = revision.value_or("main")})),
                "model");
  const std::vector<FileLock> locks = lock_all(model, repo);
  if (commits.size() < entries(model.directory() / "snapshots").size())
    return remove_snapshots(model, commits);
  const std::vector<fs::path> blobs = files_below(model.directory() / "blobs");
  const uint64_t bytes = size_of({blobs.begin(), blobs.end()});
  remove_tree(model.directory());
  remove_tree(model.locks());
  return bytes;
}

}  // namespace d3::hub
