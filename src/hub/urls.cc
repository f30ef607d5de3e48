#include "hub/urls.h"

#include <fmt/format.h>

namespace d3::hub {
namespace {

/// A text as one part of a URL's path: what is not plain becomes %XX, a slash too unless it is kept.
std::string url_quoted(std::string_view text, bool keep_slash) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_.~").find(c) != std::string_view::npos || (keep_slash && c == '/');
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

std::string listing_url(const Settings& settings, const ModelName& name) {
  return fmt::format("{}/api/models/{}/revision/{}?blobs=true", settings.endpoint, name.repo,
                     url_quoted(name.revision, false));
}

std::string file_url(const Settings& settings, const ModelName& name, std::string_view commit,
                     std::string_view path) {
  return fmt::format("{}/{}/resolve/{}/{}", settings.endpoint, name.repo, commit, url_quoted(path, true));
}

std::string whoami_url(const Settings& settings) { return settings.endpoint + "/api/whoami-v2"; }

}  // namespace d3::hub
