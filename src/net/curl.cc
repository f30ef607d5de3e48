#include "net/curl.h"

#include <new>

namespace d3::net {
namespace {

std::string part(CURLU* url, CURLUPart what, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, what, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, CurlDeleter> owner(text);
  return text;
}

}  // namespace

CurlLibrary::CurlLibrary() {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    throw Error(ErrorCode::kInternal, "libcurl cannot be initialised");
}

CurlLibrary::~CurlLibrary() { curl_global_cleanup(); }

Handle new_handle() {
  Handle handle(curl_easy_init());
  if (handle == nullptr) throw std::bad_alloc();
  return handle;
}

std::optional<Url> parse_url(std::string_view text) {
  if (text.size() > kMaxUrlBytes || text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::unique_ptr<CURLU, CurlDeleter> url(curl_url());
  if (url == nullptr) throw std::bad_alloc();
  const std::string terminated(text);
  if (curl_url_set(url.get(), CURLUPART_URL, terminated.c_str(), 0) != CURLUE_OK) return std::nullopt;
  const std::string scheme = part(url.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") return std::nullopt;
  std::string host = part(url.get(), CURLUPART_HOST);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool has_user =
      !part(url.get(), CURLUPART_USER).empty() || !part(url.get(), CURLUPART_PASSWORD).empty();
  return Url{terminated, scheme, host, part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT), has_user};
}

long status_of(CURL* handle) {
  long code = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

std::optional<std::string> redirect_target(CURL* handle) {
  const char* next = nullptr;
  curl_easy_getinfo(handle, CURLINFO_REDIRECT_URL, &next);
  if (next == nullptr) return std::nullopt;
  return next;
}

}  // namespace d3::net
