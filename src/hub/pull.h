// hub/pull.h: a model's name -> a directory in the cache that holds its checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "hub/model_name.h"
#include "hub/retry.h"
#include "hub/settings.h"

namespace d3::hub {

struct PullProgress {
  uint64_t bytes = 0;        ///< of the files that were not in the cache
  uint64_t done = 0;         ///< of these, those that have come, in earlier runs too
  uint64_t done_before = 0;  ///< of these, those of earlier runs
  uint64_t checking = 0;     ///< the size of a file that has come and whose digest is computed now; 0: none
  uint64_t checked = 0;      ///< of these, the bytes that have been read
};

/// Called from the pulling threads, one at a time.
struct PullEvents {
  std::function<void(const PullProgress&)> progress = {};
  /// A line that a user should see: another process is waited for, the hub does not answer, ..
  std::function<void(const std::string& line)> notice = {};
  /// For tests: waits before another try. The default waits.
  Retries::Pause pause = {};
};

struct Pulled {
  std::filesystem::path directory;  ///< CACHE/models--ORG--NAME/snapshots/COMMIT
  std::string commit;
  uint64_t fetched = 0;  ///< bytes that came over the network
};

/// Looks the revision up and fetches what the cache lacks of its checkpoint: the files of hub/listing.h, each
/// in parts over several connections, going on where an earlier run was stopped. A file is linked into the
/// snapshot only when its size and digest are right, the ref is set only when the snapshot is whole, and a
/// blob is written under its lock, so that readers and other writers (Python's client is one) see whole files
/// or none.
///
/// When the hub cannot be asked and the cache holds the revision whole, that is given, with a notice; a
/// commit that is whole in the cache is given without asking.
///
/// Throws Error: kNotFound (no such model or revision; not in the cache and offline), kUnauthenticated
/// (private or gated), kBadCheckpoint (no decision model, or not the digest or size that the hub says),
/// kUnavailable (no network, no space).
Pulled pull(const ModelName& name, const Settings& settings, const PullEvents& events = {});

}  // namespace d3::hub
