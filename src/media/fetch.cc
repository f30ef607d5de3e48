#include "media/fetch.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <sys/socket.h>

#include "media/address_guard.h"
#include "media/data_url.h"
#include "media/refusal.h"
#include "net/curl.h"

namespace d3::media {
namespace {

using Clock = std::chrono::steady_clock;

/// What a redirecting answer may carry before the connection is given up.
constexpr size_t kMaxIgnoredBytes = 64 * 1024;
/// An http(s) URL without credentials.
net::Url parse_url(std::string_view text) {
  if (text.size() > net::kMaxUrlBytes)
    refuse("the URL is longer than " + std::to_string(net::kMaxUrlBytes) + " bytes");
  std::optional<net::Url> url = net::parse_url(text);
  if (!url) refuse("must be an http, https or data URL");
  if (url->has_user) refuse("a URL with a user's name or password is not fetched");
  return *std::move(url);
}

/// One request: its answer and what the callbacks found.
struct Transfer {
  CURL* handle;
  const FetchOptions& options;
  size_t max_bytes;
  std::vector<std::byte> body = {};
  size_t ignored_bytes = 0;
  bool too_large = false;
  bool not_public = false;

  bool may_connect(const sockaddr& address) const {
    return is_public_address(address) || (options.allow_loopback && is_loopback_address(address));
  }
};

curl_socket_t open_socket(void* data, curlsocktype purpose, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(data);
  if (purpose != CURLSOCKTYPE_IPCXN || !transfer.may_connect(address->addr)) {
    transfer.not_public = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

size_t receive(char* data, size_t /*one*/, size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (net::status_of(transfer.handle) != net::kStatusOk) {
    transfer.ignored_bytes += size;
    return transfer.ignored_bytes <= kMaxIgnoredBytes ? size : CURL_WRITEFUNC_ERROR;
  }
  if (size > transfer.max_bytes - transfer.body.size()) {
    transfer.too_large = true;
    return CURL_WRITEFUNC_ERROR;
  }
  const auto bytes = std::as_bytes(std::span(data, size));
  transfer.body.insert(transfer.body.end(), bytes.begin(), bytes.end());
  return size;
}

/// "host:port:address,address" for CURLOPT_RESOLVE.
net::List resolved(const net::Url& url, const FetchOptions& options) {
  if (!options.resolve) return nullptr;
  std::string entry = url.host + ":" + url.port + ":";
  bool first = true;
  for (const std::string& address : options.resolve(url.host)) {
    if (!first) entry += ',';
    entry += address;
    first = false;
  }
  return net::List(first ? nullptr : curl_slist_append(nullptr, entry.c_str()));
}

void configure(Transfer& transfer, const net::Url& url, const curl_slist* addresses,
               std::chrono::milliseconds time) {
  CURL* handle = transfer.handle;
  curl_easy_reset(handle);  // connections stay
  const auto set = [&](CURLoption option, auto value) { net::set_option(handle, option, value); };
  set(CURLOPT_URL, url.text.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_FOLLOWLOCATION, 0L);  // redirects are checked by fetch_remote()
  set(CURLOPT_PROXY, "");           // whatever the environment says
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(time.count()));
  set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(transfer.max_bytes));
  set(CURLOPT_USERAGENT, "d3.cpp");
  if (addresses != nullptr) set(CURLOPT_RESOLVE, addresses);
  set(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(&transfer));
  set(CURLOPT_WRITEFUNCTION, receive);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
}

void check_host(const net::Url& url, const FetchOptions& options) {
  const auto& allowed = options.allowed_hosts;
  if (!allowed.empty() && std::none_of(allowed.begin(), allowed.end(), [&](const std::string& pattern) {
        return host_matches(url.host, pattern);
      }))
    refuse("the URL's host is not among those that media are fetched from");
  if (is_private_name(url.host) && !options.allow_loopback)
    refuse("media are fetched from public addresses only");
}

[[noreturn]] void refuse_failure(CURLcode code, const Transfer& transfer, const FetchOptions& options) {
  if (transfer.not_public) refuse("media are fetched from public addresses only");
  if (transfer.too_large || code == CURLE_FILESIZE_EXCEEDED)
    refuse("the file is larger than the " + std::to_string(transfer.max_bytes) + " bytes allowed");
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      refuse("the URL's host is not known");
    case CURLE_COULDNT_CONNECT:
      refuse("the URL's host does not answer");
    case CURLE_OPERATION_TIMEDOUT:
      refuse("fetching takes longer than the " + std::to_string(static_cast<int>(options.max_seconds)) +
             " s allowed");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
      refuse("no secure connection to the URL's host");
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
      refuse("the server closed the connection before its answer was whole");
    default:
      refuse("the server's answer cannot be read");
  }
}

std::vector<std::byte> fetch_remote(CURL* handle, std::string_view text, size_t max_bytes,
                                    const FetchOptions& options) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(options.max_seconds));
  std::string next(text);
  for (int redirects = 0; redirects <= options.max_redirects; ++redirects) {
    const net::Url url = parse_url(next);
    check_host(url, options);
    const net::List addresses = resolved(url, options);
    Transfer transfer{.handle = handle, .options = options, .max_bytes = max_bytes};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    configure(transfer, url, addresses.get(), std::max(rest, std::chrono::milliseconds(1)));
    const CURLcode code = curl_easy_perform(handle);
    if (code != CURLE_OK) refuse_failure(code, transfer, options);
    const long status = net::status_of(handle);
    if (status == net::kStatusOk) return std::move(transfer.body);
    if (!net::is_redirect(status)) refuse("the server answered with status " + std::to_string(status));
    const std::optional<std::string> target = net::redirect_target(handle);
    if (!target) refuse("the server redirects without saying where");
    next = *target;
  }
  refuse("the URL is redirected more than " + std::to_string(options.max_redirects) + " times");
}

}  // namespace

class MediaFetcher::Impl {
 public:
  explicit Impl(FetchOptions options) : options_(std::move(options)) {}

  std::vector<std::byte> fetch(std::string_view url, size_t max_bytes) {
    if (!options_.remote) refuse("only data URLs are taken: fetching is turned off");
    net::Handle handle = take();
    std::vector<std::byte> body = fetch_remote(handle.get(), url, max_bytes, options_);
    give_back(std::move(handle));  // a handle whose transfer failed is not used again
    return body;
  }

 private:
  /// Idle handles, each with its open connections; more than these are closed.
  static constexpr size_t kMaxIdle = 16;

  net::Handle take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        net::Handle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    return net::new_handle();
  }

  void give_back(net::Handle handle) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(handle));
  }

  const net::CurlLibrary library_;
  const FetchOptions options_;
  std::mutex mutex_;
  std::vector<net::Handle> idle_;
};

MediaFetcher::MediaFetcher(FetchOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
MediaFetcher::~MediaFetcher() = default;

std::vector<std::byte> MediaFetcher::fetch(std::string_view url, MediaKind kind, const MediaOptions& options,
                                           std::string_view field) const {
  const bool image = kind == MediaKind::kImage;
  const size_t max_bytes = image ? options.max_image_bytes : options.max_video_bytes;
  return naming(field, [&] {
    if (is_data_url(url)) return decode_data_url(url, image ? "image" : "video", max_bytes);
    return impl_->fetch(url, max_bytes);
  });
}

}  // namespace d3::media
