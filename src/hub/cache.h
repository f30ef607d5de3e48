// hub/cache.h: the cache on disk that is shared with Hugging Face's Python client.
//
//   CACHE/models--ORG--NAME/blobs/ETAG                 a file's content
//   CACHE/models--ORG--NAME/snapshots/COMMIT/PATH      a relative link to it
//   CACHE/models--ORG--NAME/refs/REVISION              the commit a branch or tag was at, last time
//   CACHE/.locks/models--ORG--NAME/ETAG.lock           held by who writes the blob
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/model_name.h"

namespace d3::hub {

/// The directories of one model.
class ModelCache {
 public:
  ModelCache(const std::filesystem::path& cache, const std::string& repo);

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path blob(const std::string& etag) const { return directory_ / "blobs" / etag; }
  std::filesystem::path lock(const std::string& etag) const { return locks_ / (etag + ".lock"); }
  const std::filesystem::path& locks() const { return locks_; }
  std::filesystem::path snapshot(const std::string& commit) const {
    return directory_ / "snapshots" / commit;
  }

  /// The commit a revision was at when it was last looked up; a commit is itself. None when not known.
  std::optional<std::string> commit_of(const std::string& revision) const;
  /// Throws Error(kUnavailable).
  void set_ref(const std::string& revision, const std::string& commit) const;
  /// Every revision with a ref, and its commit.
  std::vector<std::pair<std::string, std::string>> refs() const;

  /// Makes the directory of the blobs. Throws Error(kUnavailable), as those below do.
  void make_blob_directory() const;
  /// Makes snapshots/COMMIT/PATH a relative link to the blob.
  void link(const std::string& commit, const std::string& path, const std::string& etag) const;
  /// Whether the snapshot has a file at the path (of that size, where it is given).
  bool has(const std::string& commit, const std::string& path,
           std::optional<uint64_t> bytes = std::nullopt) const;

 private:
  std::filesystem::path directory_;
  std::filesystem::path locks_;
};

/// Whether a snapshot has every file that loading needs (see hub/listing.h).
bool is_whole(const std::filesystem::path& snapshot);

/// A decision model in the cache, whole or not.
struct CachedModel {
  std::string repo;
  std::string revision;  ///< the ref's name, or the commit where no ref leads to it
  std::string commit;
  std::filesystem::path snapshot;
  uint64_t bytes = 0;  ///< of the blobs it links to
  bool whole = false;
};

/// The decision models (those with a decision_config.json), by name and revision.
std::vector<CachedModel> list_models(const std::filesystem::path& cache);

/// Removes what list_models() shows of a model: one revision with the blobs that no other revision links to,
/// or, without a revision, all of the model. Returns the bytes that are free now. Throws Error(kNotFound)
/// when the cache has no such decision model, Error(kUnavailable) while another process writes it.
uint64_t remove_model(const std::filesystem::path& cache, const std::string& repo,
                      const std::optional<std::string>& revision);

}  // namespace d3::hub
