// server/playground.h: the playground's files (web/), which are compiled in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http.h"

namespace d3::server {

/// Whether a path belongs to the playground: `/`, its page, and everything below `/playground/`.
bool is_playground_path(std::string_view path);

/// Whether a client that sent this `accept-encoding` takes gzip (RFC 9110, section 12.5.3; `*` is not looked
/// at: who wants compressed answers says how).
bool takes_gzip(std::string_view accept_encoding);

/// Whether a header `if-none-match` names this ETag, which is strong (RFC 9110, section 13.1.2).
bool names_etag(std::string_view if_none_match, std::string_view etag);

class Playground {
 public:
  /// Puts the style into the page, which is then painted without a second request, and compresses and hashes
  /// the files.
  Playground();

  /// The file at a path, compressed where the client takes that and it is shorter; 304 without a body where
  /// the client has it already. Nothing the page loads comes from elsewhere, and nothing in it runs that is
  /// not one of these files: the header `content-security-policy` says so. Throws Error(kNotFound).
  Reply serve(const RequestHead& head) const;

  /// The paths of all files.
  std::vector<std::string_view> paths() const;

 private:
  struct Form {
    std::string body;
    std::string etag;  ///< with its quotes; each form has its own
  };
  struct File {
    std::string path;
    std::string_view content_type;
    Form plain;
    Form gzip;
  };

  void add(std::string path, std::string_view name, std::string text);

  std::string content_policy_;
  std::vector<File> files_;
};

}  // namespace d3::server
