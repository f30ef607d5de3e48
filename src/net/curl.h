// net/curl.h: libcurl's handles with owners, and URLs as libcurl itself reads them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <curl/curl.h>

#include "base/error.h"

namespace d3::net {

struct CurlDeleter {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  void operator()(char* text) const { curl_free(text); }
};
using Handle = std::unique_ptr<CURL, CurlDeleter>;
using List = std::unique_ptr<curl_slist, CurlDeleter>;

/// Keeps libcurl initialised; an owner of handles has one that outlives them.
class CurlLibrary {
 public:
  CurlLibrary();  ///< throws Error(kInternal)
  ~CurlLibrary();
  CurlLibrary(const CurlLibrary&) = delete;
  CurlLibrary& operator=(const CurlLibrary&) = delete;
};

Handle new_handle();  ///< never null; throws std::bad_alloc

template <typename Value>
void set_option(CURL* handle, CURLoption option, Value value) {
  if (curl_easy_setopt(handle, option, value) != CURLE_OK)
    throw Error(ErrorCode::kInternal, "libcurl lacks option " + std::to_string(option));
}

/// URLs in use are shorter.
inline constexpr size_t kMaxUrlBytes = 8192;

struct Url {
  std::string text;
  std::string scheme;  ///< "http" or "https"
  std::string host;    ///< numeric forms of IPv4 in their usual spelling, IPv6 without brackets
  std::string port;    ///< the scheme's own when the text has none
  bool has_user = false;
};

/// An http or https URL of at most kMaxUrlBytes as libcurl reads it, so that what is checked is what is
/// connected to. None for everything else.
std::optional<Url> parse_url(std::string_view text);

inline constexpr long kStatusOk = 200;
long status_of(CURL* handle);
bool is_redirect(long status);
/// Where a redirecting answer leads, as an absolute URL; none when it does not say.
std::optional<std::string> redirect_target(CURL* handle);

}  // namespace d3::net
