// server/api_keys.h: who may ask.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace d3::server {

/// Compares SHA-256 digests in constant time, so that neither a key's characters nor its length can be found
/// out by timing. The keys themselves are not kept.
class ApiKeys {
 public:
  explicit ApiKeys(const std::vector<std::string>& keys);

  /// Whether a value of the header `authorization` is `Bearer <one of the keys>` (the scheme in any case).
  /// Always true when there are no keys.
  bool allows(std::string_view authorization) const;

 private:
  using Digest = std::array<unsigned char, 32>;
  static Digest digest(std::string_view text);

  std::vector<Digest> digests_;
};

/// The keys of a file, one a line; empty lines and those that begin with # are left out. Throws
/// Error(kNotFound) when it cannot be read and Error(kInvalidArgument) when it has no key: a server meant to
/// be guarded must not start open.
std::vector<std::string> read_api_keys(const std::string& path);

}  // namespace d3::server
