// media/fetch.h: a request's URL → the medium's bytes, under a guard.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "media/media.h"

namespace d3::media {

enum class MediaKind { kImage, kVideo };

struct FetchOptions {
  bool remote = true;  ///< false: http(s) URLs are refused, data URLs are not
  /// Where http(s) URLs may lead, redirects included: names, or `*.example.com` for names under one. Empty:
  /// anywhere public. A listed host's address must be public as any other's.
  std::vector<std::string> allowed_hosts;
  double max_seconds = 10;  ///< for one medium, redirects included
  int max_redirects = 5;

  /// For tests only: addresses of loopback may be connected to.
  bool allow_loopback = false;
  /// For tests only: looked up instead of the system's resolver; gives textual addresses.
  std::function<std::vector<std::string>(const std::string& host)> resolve;
};

/// Fetches http(s) and data URLs. Connections are kept for later fetches from the same host. The guard
/// (media/address_guard.h) judges the very address that is being connected to, at every connection, so that
/// no answer of a name server gets around it; no proxy, cookie or credential is used. Any number of threads
/// may fetch at once.
class MediaFetcher {
 public:
  explicit MediaFetcher(FetchOptions options);
  MediaFetcher(const MediaFetcher&) = delete;
  MediaFetcher& operator=(const MediaFetcher&) = delete;
  ~MediaFetcher();

  /// At most the kind's limit of `options` bytes. Blocks the calling thread for max_seconds at the longest.
  /// Throws Error(kInvalidArgument) naming `field` (`images[0]`); its reason tells nothing of private
  /// networks but that an address is not public.
  std::vector<std::byte> fetch(std::string_view url, MediaKind kind, const MediaOptions& options,
                               std::string_view field) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace d3::media
