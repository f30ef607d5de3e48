// hub/listing.h: what the hub says a model's repository holds, and which of it a checkpoint is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace d3::hub {

/// A file of a repository. `etag` names its content, and its blob in the cache: the SHA-256 of a large file,
/// git's SHA-1 of a small one.
struct RemoteFile {
  std::string path;  ///< relative, stays inside the repository
  std::string etag;  ///< empty when the listing does not say
  std::optional<uint64_t> bytes;
};

/// A listing's text is no longer.
inline constexpr size_t kMaxListingBytes = size_t{32} << 20;

struct Listing {
  std::string commit;  ///< 40 hexadecimal digits
  std::vector<RemoteFile> files;

  const RemoteFile* find(std::string_view path) const;
};

/// The body of GET /api/models/ORG/NAME/revision/REVISION?blobs=true. Throws Error(kUnavailable) when it is
/// none. Files whose path leaves the repository are an error; other members are ignored.
Listing parse_listing(std::string_view body);

/// An ETag header without its quotes and weakness mark; empty when what is left can be no file's name.
std::string etag_from_header(std::string_view header);

/// The files that say what else is needed, as far as they are there: MODEL_MANIFEST.json and
/// model.safetensors.index.json (where there is no model.safetensors). Throws Error(kBadCheckpoint) when a
/// file that every checkpoint has is missing.
std::vector<std::string> leading_files(const Listing& listing, const std::string& repo);

/// All files of the checkpoint: those of spec table "checkpoint directory" that are there, the shards that
/// the index's text names, and what the manifest's text lists (loading checks them). Throws
/// Error(kBadCheckpoint) for an index or manifest that cannot be read, and for a shard that is not there.
std::vector<std::string> needed_files(const Listing& listing, const std::string& repo,
                                      const std::optional<std::string>& manifest,
                                      const std::optional<std::string>& index);

/// What an index's "weight_map" names, each once. Throws Error(kBadCheckpoint) naming `file`.
std::vector<std::string> shards_of_index(std::string_view index, const std::string& file);

}  // namespace d3::hub
