// checkpoint/manifest.h: MODEL_MANIFEST.json, the sizes and digests of a checkpoint's files.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/sha256.h"

namespace d3::checkpoint {

struct Manifest {
  struct File {
    std::string name;  ///< relative to the directory, inside it
    uint64_t bytes = 0;
    Sha256::Digest sha256{};
  };
  std::string model_name;
  std::string repo_id;
  std::vector<File> files;
};

/// Files up to this size are hashed by Verify::kFast.
inline constexpr uint64_t kFastHashBytes = uint64_t{64} << 20;

/// The folder's manifest, none when it has none. Error(kBadCheckpoint) names the file and the key: another
/// schema, a name that leaves the directory, a file that only one of files_sha256 and files_bytes lists.
std::optional<Manifest> read_manifest(const Folder& folder);

/// The same for a text; `file` is named in errors.
Manifest parse_manifest(std::string_view text, const std::filesystem::path& file);

/// Checks the folder's files against the manifest: all sizes first, then digests, several files at a time.
/// Nothing for Verify::kNone. Throws Error(kBadCheckpoint) naming the first file in the manifest's order that
/// is missing or differs, with what was expected and found.
void verify_files(const Manifest& manifest, const Folder& folder, Verify verify);

}  // namespace d3::checkpoint
