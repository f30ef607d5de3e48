// hub/download.h: files of one commit -> blobs in the cache.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "hub/blob_file.h"
#include "hub/cache.h"
#include "hub/connection.h"
#include "hub/listing.h"
#include "hub/pull.h"

namespace d3::hub {

/// The connections of one pull, a thread for each, and what they report.
class Downloader {
 public:
  Downloader(const ModelName& name, const Settings& settings, const PullEvents& events);

  /// GET of a small text, with retries. `max_tries` as in Settings.
  std::string get_text(const std::string& url, size_t limit, int max_tries);

  /// Fills in what a listing left out of files, by asking for each.
  void complete(const std::string& commit, std::vector<RemoteFile>& files);

  /// Fetches the files' blobs that are not in the cache and links all files into the commit's snapshot.
  void fetch(const std::string& commit, const std::vector<RemoteFile>& files);

  uint64_t fetched() const { return fetched_; }

 private:
  /// Calls body(item, connection) for every item on as many threads as there are connections.
  void for_each(size_t items, const std::function<void(size_t item, Connection& connection)>& body);
  template <typename Try>
  auto with_retries(int max_tries, Try&& attempt);

  std::vector<RemoteFile> missing_blobs(const std::vector<RemoteFile>& files) const;
  void check_space(const std::vector<RemoteFile>& missing) const;
  void fetch_small(const std::string& commit, const RemoteFile& file, Connection& connection);
  void fetch_large(const std::string& commit, const RemoteFile& file);
  /// Fetches under the blob's lock; `fetch_parts` brings every part of the file.
  void fetch_locked(const RemoteFile& file, const std::function<void(BlobFile&)>& fetch_parts);
  void fetch_part(BlobFile& blob, size_t part, const std::string& url, const RemoteFile& file,
                  Connection& connection);
  void request_part(BlobFile& blob, size_t part, const std::string& url, const RemoteFile& file,
                    Connection& connection);

  std::string digest_of(const BlobFile& blob, const RemoteFile& file);

  void notice(const std::string& line);
  void add_done(int64_t bytes);
  void report_check(uint64_t checking, uint64_t checked);

  const ModelName& name_;
  const Settings& settings_;
  const PullEvents& events_;
  ModelCache cache_;
  Stop stop_;
  Retries::Pause pause_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<Connection>> connections_;  ///< one a thread
  std::mutex report_mutex_;
  PullProgress progress_;  ///< under report_mutex_
  std::atomic<uint64_t> fetched_{0};
};

}  // namespace d3::hub
