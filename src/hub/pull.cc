#include "hub/pull.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "checkpoint/file.h"
#include "hub/cache.h"
#include "hub/download.h"
#include "hub/listing.h"
#include "hub/urls.h"

namespace d3::hub {
namespace {

/// The revision as the cache has it, when it is whole.
std::optional<Pulled> in_cache(const ModelName& name, const ModelCache& cache) {
  const auto commit = cache.commit_of(name.revision);
  if (!commit || !is_whole(cache.snapshot(*commit))) return std::nullopt;
  return Pulled{.directory = cache.snapshot(*commit), .commit = *commit, .fetched = 0};
}

Pulled offline(const ModelName& name, const Settings& settings, const ModelCache& cache) {
  if (auto found = in_cache(name, cache)) return *found;
  const bool in_part = cache.commit_of(name.revision).has_value();
  throw Error(ErrorCode::kNotFound,
              fmt::format("{} is {} in {}, and --offline or HF_HUB_OFFLINE keeps from pulling it",
                          to_text(name), in_part ? "not whole" : "not", settings.cache.string()),
              "model");
}

/// Whether the copy in the cache may stand in when the hub answers so.
bool may_stand_in(const Error& error) {
  return error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kUnauthenticated ||
         (error.code() == ErrorCode::kNotFound && error.field() == "model");
}

std::vector<RemoteFile> files_of(const Listing& listing, const std::vector<std::string>& paths) {
  std::vector<RemoteFile> files;
  for (const std::string& path : paths) files.push_back(*listing.find(path));
  return files;
}

std::optional<std::string> text_of(const std::filesystem::path& snapshot,
                                   const std::vector<std::string>& paths, const char* path) {
  if (std::ranges::find(paths, path) == paths.end()) return std::nullopt;
  return checkpoint::read_text_file(snapshot / path, checkpoint::kMaxJsonBytes);
}

Pulled from_hub(const ModelName& name, const ModelCache& cache, Downloader& downloader,
                const Listing& listing) {
  const auto snapshot = cache.snapshot(listing.commit);
  const auto fetch = [&](const std::vector<std::string>& paths) {
    std::vector<RemoteFile> files = files_of(listing, paths);
    downloader.complete(listing.commit, files);
    downloader.fetch(listing.commit, files);
  };
  const std::vector<std::string> leading = leading_files(listing, name.repo);
  fetch(leading);
  fetch(needed_files(listing, name.repo, text_of(snapshot, leading, "MODEL_MANIFEST.json"),
                     text_of(snapshot, leading, "model.safetensors.index.json")));
  cache.set_ref(name.revision, listing.commit);
  return {.directory = snapshot, .commit = listing.commit, .fetched = downloader.fetched()};
}

}  // namespace

Pulled pull(const ModelName& name, const Settings& settings, const PullEvents& events) {
  const ModelCache cache(settings.cache, name.repo);
  if (settings.offline) return offline(name, settings, cache);
  const std::optional<Pulled> cached = in_cache(name, cache);
  if (cached && is_commit(name.revision)) return *cached;
  Downloader downloader(name, settings, events);
  std::optional<Listing> listing;
  try {
    listing = parse_listing(
        downloader.get_text(listing_url(settings, name), kMaxListingBytes, cached ? 1 : settings.max_tries));
  } catch (const Error& error) {
    if (!cached || !may_stand_in(error)) throw;
    if (events.notice)
      events.notice(fmt::format("{}; taking {} as the cache has it", error.what(), to_text(name)));
    return *cached;
  }
  return from_hub(name, cache, downloader, *listing);
}

}  // namespace d3::hub
