#include "checkpoint/manifest.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "checkpoint/fields.h"
#include "checkpoint/file.h"
#include "checkpoint/messages.h"
#include "json/number.h"

namespace d3::checkpoint {
namespace {

constexpr const char* kManifestName = "MODEL_MANIFEST.json";
constexpr size_t kMaxFiles = 4096;

std::optional<uint8_t> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<Sha256::Digest> parse_digest(const json::Value& value) {
  Sha256::Digest digest{};
  if (!value.is_string() || value.as_string().size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const std::optional<uint8_t> high = hex_value(value.as_string()[2 * i]);
    const std::optional<uint8_t> low = hex_value(value.as_string()[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    digest[i] = static_cast<uint8_t>(*high << 4 | *low);
  }
  return digest;
}

const json::Object& require_object(const Fields& fields, std::string_view key) {
  const json::Value& value = fields.at(key);
  if (!value.is_object()) throw fields.unexpected(key, "an object");
  return value.as_object();
}

std::vector<Manifest::File> read_files(const Fields& fields) {
  const json::Object& digests = require_object(fields, "files_sha256");
  const json::Object& sizes = require_object(fields, "files_bytes");
  if (digests.size() > kMaxFiles)
    throw fields.error("files_sha256",
                       fmt::format("lists {} files; at most {} are read", digests.size(), kMaxFiles));
  if (digests.size() != sizes.size())
    throw fields.error("files_bytes",
                       fmt::format("lists {} files, files_sha256 {}", sizes.size(), digests.size()));
  std::vector<Manifest::File> files;
  for (const json::Member& member : digests) {
    const std::string key = fmt::format("files_sha256 {}", in_quotes(member.key));
    if (!stays_inside(member.key)) throw fields.error(key, "is not a file inside the checkpoint's directory");
    const std::optional<Sha256::Digest> digest = parse_digest(member.value);
    if (!digest)
      throw fields.error(key, fmt::format("is {}; expected 64 hexadecimal digits", shown(member.value)));
    const json::Value* size = fields.at("files_bytes").find(member.key);
    const std::optional<int64_t> bytes =
        size != nullptr && size->is_number() ? json::to_int64(size->as_number()) : std::nullopt;
    if (!bytes || *bytes < 0)
      throw fields.error(fmt::format("files_bytes {}", in_quotes(member.key)),
                         "is missing or not a file's size");
    files.push_back({member.key, static_cast<uint64_t>(*bytes), *digest});
  }
  return files;
}

/// Of a file of the folder; what went wrong in `error`.
uint64_t size_of(const Folder& folder, const std::string& name, std::error_code& error) {
  if (!folder.embedded()) return std::filesystem::file_size(folder.path() / name, error);
  const auto bytes = folder.find(name);
  if (!bytes) error = std::make_error_code(std::errc::no_such_file_or_directory);
  return bytes ? bytes->size() : 0;
}

void check_size(const Manifest::File& file, const Folder& folder) {
  const std::filesystem::path path = folder.path() / file.name;
  std::error_code error;
  const uint64_t bytes = size_of(folder, file.name, error);
  if (error) throw bad_file(path, fmt::format("is listed in {}, but {}", kManifestName, error.message()));
  if (bytes != file.bytes)
    throw bad_file(path, fmt::format("has {} bytes; {} says {}", bytes, kManifestName, file.bytes));
}

void check_digest(const Manifest::File& file, const Folder& folder) {
  const std::filesystem::path path = folder.path() / file.name;
  const auto embedded = folder.find(file.name);
  const Sha256::Digest digest = embedded ? Sha256::of(*embedded) : sha256_of_file(path);
  if (digest != file.sha256)
    throw bad_file(
        path, fmt::format("has SHA-256 {}; {} says {}", to_hex(digest), kManifestName, to_hex(file.sha256)));
}

}  // namespace

Manifest parse_manifest(std::string_view text, const std::filesystem::path& file) {
  const json::Value root = parse_object(text, file);
  const Fields fields(root, file);
  if (fields.text("schema") != "d3-package-manifest/1")
    throw fields.unexpected("schema", "\"d3-package-manifest/1\"");
  Manifest manifest;
  manifest.model_name = fields.text_or("model_name", "");
  manifest.repo_id = fields.text_or("repo_id", "");
  manifest.files = read_files(fields);
  return manifest;
}

std::optional<Manifest> read_manifest(const Folder& folder) {
  // A link that leads nowhere is not a directory without a manifest.
  if (!has_file(folder, kManifestName)) return std::nullopt;
  return parse_manifest(read_text_file(folder, kManifestName, kMaxJsonBytes), folder.path() / kManifestName);
}

void verify_files(const Manifest& manifest, const Folder& folder, Verify verify) {
  if (verify == Verify::kNone) return;
  std::vector<size_t> hashed;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    check_size(manifest.files[i], folder);
    if (verify == Verify::kFull || manifest.files[i].bytes <= kFastHashBytes) hashed.push_back(i);
  }
  if (hashed.empty()) return;
  // The largest first, so that none of them is left for the end.
  std::stable_sort(hashed.begin(), hashed.end(),
                   [&](size_t a, size_t b) { return manifest.files[a].bytes > manifest.files[b].bytes; });
  std::vector<std::exception_ptr> errors(manifest.files.size());
  ThreadPool pool({.threads = std::min(available_cpus(), static_cast<int>(hashed.size()))});
  pool.parallel_for(hashed.size(), [&](size_t item, int) {
    const Manifest::File& file = manifest.files[hashed[item]];
    try {
      check_digest(file, folder);
    } catch (...) {
      errors[hashed[item]] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace d3::checkpoint
