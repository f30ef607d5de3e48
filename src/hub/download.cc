#include "hub/download.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "hub/digest.h"
#include "hub/file_lock.h"
#include "hub/urls.h"

namespace d3::hub {
namespace {

constexpr std::chrono::milliseconds kLockPoll{100};
constexpr uint64_t kCheckStep = uint64_t{16} << 20;  ///< of a digest, between two reports

/// The host gives whole files only: parts are of no use.
class NoRanges : public std::exception {};

Error bad_file(const ModelName& name, const RemoteFile& file, const std::string& what) {
  return {ErrorCode::kBadCheckpoint, fmt::format("{} of {} {}", file.path, to_text(name), what), file.path};
}

/// The content that the answer is about, as the hub says.
void check_etag(const Answer& answer, const RemoteFile& file, const ModelName& name) {
  std::string etag = etag_from_header(header(answer.endpoint_headers, "x-linked-etag"));
  if (etag.empty() && answer.from_endpoint) etag = etag_from_header(header(answer.headers, "etag"));
  if (is_digest(etag) && is_digest(file.etag) && etag != file.etag)
    throw bad_file(name, file,
                   fmt::format("is {} at {}; the list of files says {}", etag, answer.host, file.etag));
}

void check_size(const Answer& answer, uint64_t bytes, const RemoteFile& file, const ModelName& name) {
  if (bytes != *file.bytes)
    throw bad_file(
        name, file,
        fmt::format("has {} bytes at {}; the list of files says {}", bytes, answer.host, *file.bytes));
}

}  // namespace

Downloader::Downloader(const ModelName& name, const Settings& settings, const PullEvents& events)
    : name_(name),
      settings_(settings),
      events_(events),
      cache_(settings.cache, name.repo),
      pause_(events.pause ? events.pause : [this](std::chrono::milliseconds time) { stop_.wait(time); }),
      pool_({.threads = std::max(settings.connections, 1)}) {
  const auto token = read_token(settings);
  for (int i = 0; i < pool_.size(); ++i)
    connections_.push_back(std::make_unique<Connection>(settings, token, stop_));
}

void Downloader::for_each(size_t items, const std::function<void(size_t, Connection&)>& body) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](size_t item, int worker) {
    try {
      body(item, *connections_[static_cast<size_t>(worker)]);
    } catch (const Stopped&) {
      throw;  // another's error is the reason
    } catch (const NoRanges&) {
      throw;  // the others will find out too
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      stop_.request();
      throw;
    }
  };
  try {
    pool_.parallel_for(items, run);
  } catch (...) {
    if (first) std::rethrow_exception(first);
    throw;
  }
}

template <typename Try>
auto Downloader::with_retries(int max_tries, Try&& attempt) {
  Retries retries(max_tries, settings_.max_wait, pause_);
  for (;;) {
    const uint64_t before = fetched_;
    try {
      return attempt();
    } catch (const TransientError& error) {
      if (fetched_ > before) retries.reset();
      retries.wait_after(error);
    }
  }
}

std::string Downloader::get_text(const std::string& url, size_t limit, int max_tries) {
  return with_retries(max_tries,
                      [&] { return connections_.front()->get_text(url, limit, name_.repo, name_.revision); });
}

void Downloader::complete(const std::string& commit, std::vector<RemoteFile>& files) {
  for_each(files.size(), [&](size_t item, Connection& connection) {
    RemoteFile& file = files[item];
    if (!file.etag.empty() && file.bytes) return;
    with_retries(settings_.max_tries, [&] {
      const Answer answer =
          connection.send({.url = file_url(settings_, name_, commit, file.path), .head = true},
                          [](const Answer&, std::span<const std::byte>) {});
      check_status(answer, settings_, name_.repo, name_.revision);
      file.etag = etag_from_header(header(answer.endpoint_headers, "x-linked-etag"));
      if (file.etag.empty()) file.etag = etag_from_header(header(answer.headers, "etag"));
      file.bytes = byte_count(answer.endpoint_headers, "x-linked-size");
      if (!file.bytes) file.bytes = byte_count(answer.headers, "content-length");
      if (file.etag.empty() || !file.bytes)
        throw Error(ErrorCode::kUnavailable,
                    fmt::format("{} does not say the ETag and size of {}", answer.host, file.path),
                    file.path);
    });
  });
}

std::vector<RemoteFile> Downloader::missing_blobs(const std::vector<RemoteFile>& files) const {
  std::vector<RemoteFile> missing;
  std::set<std::string> etags;
  for (const RemoteFile& file : files) {
    std::error_code error;
    const uint64_t there = std::filesystem::file_size(cache_.blob(file.etag), error);
    if ((error || there != *file.bytes) && etags.insert(file.etag).second) missing.push_back(file);
  }
  return missing;
}

void Downloader::check_space(const std::vector<RemoteFile>& missing) const {
  uint64_t needed = 0;
  for (const RemoteFile& file : missing) {
    // What an earlier run left counts as there, holes and all: only the file system knows better.
    std::error_code error;
    const uint64_t there =
        std::filesystem::file_size(cache_.blob(file.etag).string() + ".d3.incomplete", error);
    needed += *file.bytes - (error ? 0 : std::min(there, *file.bytes));
  }
  std::error_code error;
  const auto space = std::filesystem::space(settings_.cache, error);
  if (error || space.available >= needed) return;
  throw Error(ErrorCode::kUnavailable,
              fmt::format("no space for {}: it takes {:.1f} GB more, and {} has {:.1f} GB", to_text(name_),
                          static_cast<double>(needed) / 1e9, settings_.cache.string(),
                          static_cast<double>(space.available) / 1e9),
              settings_.cache.string());
}

void Downloader::fetch(const std::string& commit, const std::vector<RemoteFile>& files) {
  std::vector<RemoteFile> wanted;
  for (const RemoteFile& file : files)
    if (!cache_.has(commit, file.path, file.bytes)) wanted.push_back(file);
  std::vector<RemoteFile> missing = missing_blobs(wanted);
  if (!missing.empty()) {
    cache_.make_blob_directory();
    check_space(missing);
    {
      const std::lock_guard lock(report_mutex_);
      for (const RemoteFile& file : missing) progress_.bytes += *file.bytes;
    }
    const auto large = std::stable_partition(missing.begin(), missing.end(), [&](const RemoteFile& file) {
      return *file.bytes <= settings_.part_bytes;
    });
    const auto small = static_cast<size_t>(large - missing.begin());
    for_each(small,
             [&](size_t item, Connection& connection) { fetch_small(commit, missing[item], connection); });
    for (auto file = large; file != missing.end(); ++file) fetch_large(commit, *file);
  }
  for (const RemoteFile& file : wanted) cache_.link(commit, file.path, file.etag);
}

void Downloader::fetch_small(const std::string& commit, const RemoteFile& file, Connection& connection) {
  const std::string url = file_url(settings_, name_, commit, file.path);
  fetch_locked(file, [&](BlobFile& blob) {
    for (size_t part = 0; part < blob.parts(); ++part) fetch_part(blob, part, url, file, connection);
  });
}

void Downloader::fetch_large(const std::string& commit, const RemoteFile& file) {
  const std::string url = file_url(settings_, name_, commit, file.path);
  const auto fetch_parts = [&](BlobFile& blob) {
    for_each(blob.parts(),
             [&](size_t part, Connection& connection) { fetch_part(blob, part, url, file, connection); });
  };
  fetch_locked(file, [&](BlobFile& blob) {
    try {
      fetch_parts(blob);
    } catch (const NoRanges&) {
      add_done(-static_cast<int64_t>(blob.done()));
      blob = BlobFile(cache_.blob(file.etag), *file.bytes, *file.bytes, false);
      fetch_parts(blob);
    }
  });
}

void Downloader::fetch_locked(const RemoteFile& file, const std::function<void(BlobFile&)>& fetch_parts) {
  bool told = false;
  const FileLock lock(cache_.lock(file.etag), [&] {
    if (!std::exchange(told, true))
      notice(fmt::format("waiting for another process that pulls {}", file.path));
    stop_.wait(kLockPoll);
  });
  if (missing_blobs({file}).empty()) {  // the other process has brought it
    const std::lock_guard report(report_mutex_);
    progress_.bytes -= *file.bytes;
    return;
  }
  const std::filesystem::path path = cache_.blob(file.etag);
  // Without a digest nobody would notice what a power cut did to the earlier run's bytes.
  BlobFile blob(path, *file.bytes, settings_.part_bytes, is_digest(file.etag));
  {
    const std::lock_guard report(report_mutex_);
    progress_.done_before += blob.done();
  }
  add_done(static_cast<int64_t>(blob.done()));
  for (;;) {
    fetch_parts(blob);
    const std::string digest = digest_of(blob, file);
    if (digest.empty() || digest == file.etag) break;
    const bool again = blob.resumed();  // the bytes of the earlier run may be at fault
    add_done(-static_cast<int64_t>(blob.done()));
    if (!again) {
      blob.discard();
      throw bad_file(name_, file, fmt::format("came with the digest {}; the hub says {}", digest, file.etag));
    }
    notice(fmt::format("{} is damaged: fetching it anew", file.path));
    blob.restart();
  }
  blob.place();
}

std::string Downloader::digest_of(const BlobFile& blob, const RemoteFile& file) {
  report_check(*file.bytes, 0);
  uint64_t read = 0;
  std::string digest = digest_like(file.etag, blob.path(), [&](size_t bytes) {
    const uint64_t steps = read / kCheckStep;
    read += bytes;
    if (read / kCheckStep > steps) report_check(*file.bytes, read);
  });
  report_check(0, 0);
  return digest;
}

void Downloader::fetch_part(BlobFile& blob, size_t part, const std::string& url, const RemoteFile& file,
                            Connection& connection) {
  Retries retries(settings_.max_tries, settings_.max_wait, pause_);
  for (;;) {
    const uint64_t before = blob.part(part).done;
    if (before == blob.part(part).length) return;
    try {
      request_part(blob, part, url, file, connection);
    } catch (const TransientError& error) {
      if (blob.part(part).done > before) retries.reset();
      retries.wait_after(error);
    }
  }
}

void Downloader::request_part(BlobFile& blob, size_t part, const std::string& url, const RemoteFile& file,
                              Connection& connection) {
  const BlobFile::Part at = blob.part(part);
  Request request{.url = url};
  if (at.begin + at.done > 0 || blob.parts() > 1)
    request.range = {.first = at.begin + at.done, .last = at.begin + at.length - 1};
  bool checked = false;
  const auto check = [&](const Answer& answer) {
    check_etag(answer, file, name_);
    if (answer.status == 206) {
      const auto range = parse_content_range(header(answer.headers, "content-range"));
      if (!range || !request.range || range->first != request.range->first)
        throw bad_file(name_, file, fmt::format("is answered by {} with another range", answer.host));
      return check_size(answer, range->total, file, name_);
    }
    if (const auto bytes = byte_count(answer.headers, "content-length"))
      check_size(answer, *bytes, file, name_);
    if (!request.range) return;
    // The whole file comes instead of the range.
    if (blob.parts() > 1) throw NoRanges();
    add_done(-static_cast<int64_t>(blob.part(part).done));
    blob.restart(part);
  };
  const Answer answer = connection.send(request, [&](const Answer& from, std::span<const std::byte> piece) {
    if (!std::exchange(checked, true)) check(from);
    const BlobFile::Part now = blob.part(part);
    if (piece.size() > now.length - now.done)
      throw bad_file(name_, file, fmt::format("is longer at {} than the list of files says", from.host));
    blob.write(part, piece);
    fetched_ += piece.size();
    add_done(static_cast<int64_t>(piece.size()));
  });
  check_status(answer, settings_, name_.repo, name_.revision);
  if (blob.part(part).done < blob.part(part).length)
    throw TransientError(fmt::format("{} cut the connection", answer.host));
}

void Downloader::notice(const std::string& line) {
  const std::lock_guard lock(report_mutex_);
  if (events_.notice) events_.notice(line);
}

void Downloader::add_done(int64_t bytes) {
  const std::lock_guard lock(report_mutex_);
  progress_.done = static_cast<uint64_t>(static_cast<int64_t>(progress_.done) + bytes);
  if (events_.progress) events_.progress(progress_);
}

void Downloader::report_check(uint64_t checking, uint64_t checked) {
  const std::lock_guard lock(report_mutex_);
  progress_.checking = checking;
  progress_.checked = checked;
  if (events_.progress) events_.progress(progress_);
}

}  // namespace d3::hub
