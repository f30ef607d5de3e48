#include "media/fetch.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <curl/curl.h>
#include <sys/socket.h>

#include "media/address_guard.h"
#include "media/data_url.h"
#include "media/refusal.h"

namespace d3::media {
namespace {

using Clock = std::chrono::steady_clock;

/// URLs in use are shorter; a longer one is no address of a medium.
constexpr size_t kMaxUrlBytes = 8192;
/// What a redirecting answer may carry before the connection is given up.
constexpr size_t kMaxIgnoredBytes = 64 * 1024;
constexpr long kStatusOk = 200;

struct CurlDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  void operator()(char* text) const { curl_free(text); }
};
using Handle = std::unique_ptr<CURL, CurlDeleter>;
using List = std::unique_ptr<curl_slist, CurlDeleter>;

/// An http(s) URL as libcurl itself reads it, so that what is checked is what is connected to.
struct Url {
  std::string text;
  std::string host;  ///< numeric forms of IPv4 in their usual spelling, IPv6 without brackets
  std::string port;
};

std::string part(CURLU* url, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, CurlDeleter> owner(text);
  return text;
}

Url parse_url(std::string_view text) {
  if (text.size() > kMaxUrlBytes) refuse("the URL is longer than " + std::to_string(kMaxUrlBytes) + " bytes");
  const std::unique_ptr<CURLU, CurlDeleter> url(curl_url());
  if (url == nullptr) throw std::bad_alloc();
  const std::string terminated(text);
  const bool valid = terminated.find('\0') == std::string::npos &&
                     curl_url_set(url.get(), CURLUPART_URL, terminated.c_str(), 0) == CURLUE_OK;
  const std::string scheme = valid ? part(url.get(), CURLUPART_SCHEME) : "";
  if (scheme != "http" && scheme != "https") refuse("must be an http, https or data URL");
  if (!part(url.get(), CURLUPART_USER).empty() || !part(url.get(), CURLUPART_PASSWORD).empty())
    refuse("a URL with a user's name or password is not fetched");
  std::string host = part(url.get(), CURLUPART_HOST);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {terminated, host, part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT)};
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

  long status() const {
    long code = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
    return code;
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
  if (transfer.status() != kStatusOk) {
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
List resolved(const Url& url, const FetchOptions& options) {
  if (!options.resolve) return nullptr;
  std::string entry = url.host + ":" + url.port + ":";
  bool first = true;
  for (const std::string& address : options.resolve(url.host)) {
    if (!first) entry += ',';
    entry += address;
    first = false;
  }
  return List(first ? nullptr : curl_slist_append(nullptr, entry.c_str()));
}

void configure(Transfer& transfer, const Url& url, const curl_slist* addresses,
               std::chrono::milliseconds time) {
  CURL* handle = transfer.handle;
  curl_easy_reset(handle);  // connections stay
  const auto set = [&](CURLoption option, auto value) {
    if (curl_easy_setopt(handle, option, value) != CURLE_OK)
      throw Error(ErrorCode::kInternal, "libcurl lacks option " + std::to_string(option));
  };
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

void check_host(const Url& url, const FetchOptions& options) {
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

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/// Where a redirecting answer leads.
std::string next_url(CURL* handle) {
  const char* next = nullptr;
  curl_easy_getinfo(handle, CURLINFO_REDIRECT_URL, &next);
  if (next == nullptr) refuse("the server redirects without saying where");
  return next;
}

std::vector<std::byte> fetch_remote(CURL* handle, std::string_view text, size_t max_bytes,
                                    const FetchOptions& options) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(options.max_seconds));
  std::string next(text);
  for (int redirects = 0; redirects <= options.max_redirects; ++redirects) {
    const Url url = parse_url(next);
    check_host(url, options);
    const List addresses = resolved(url, options);
    Transfer transfer{.handle = handle, .options = options, .max_bytes = max_bytes};
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    configure(transfer, url, addresses.get(), std::max(rest, std::chrono::milliseconds(1)));
    const CURLcode code = curl_easy_perform(handle);
    if (code != CURLE_OK) refuse_failure(code, transfer, options);
    const long status = transfer.status();
    if (status == kStatusOk) return std::move(transfer.body);
    if (!is_redirect(status)) refuse("the server answered with status " + std::to_string(status));
    next = next_url(handle);
  }
  refuse("the URL is redirected more than " + std::to_string(options.max_redirects) + " times");
}

}  // namespace

class MediaFetcher::Impl {
 public:
  explicit Impl(FetchOptions options) : options_(std::move(options)) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      throw Error(ErrorCode::kInternal, "libcurl cannot be initialised");
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    idle_.clear();
    curl_global_cleanup();
  }

  std::vector<std::byte> fetch(std::string_view url, size_t max_bytes) {
    if (!options_.remote) refuse("only data URLs are taken: fetching is turned off");
    Handle handle = take();
    std::vector<std::byte> body = fetch_remote(handle.get(), url, max_bytes, options_);
    give_back(std::move(handle));  // a handle whose transfer failed is not used again
    return body;
  }

 private:
  /// Idle handles, each with its open connections; more than these are closed.
  static constexpr size_t kMaxIdle = 16;

  Handle take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Handle handle = std::move(idle_.back());
        idle_.pop_back();
        return handle;
      }
    }
    Handle handle(curl_easy_init());
    if (handle == nullptr) throw std::bad_alloc();
    return handle;
  }

  void give_back(Handle handle) {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(handle));
  }

  const FetchOptions options_;
  std::mutex mutex_;
  std::vector<Handle> idle_;
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
