#include "server/api_keys.h"

#include <algorithm>
#include <fstream>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/ascii.h"
#include "base/error.h"

namespace d3::server {
namespace {

constexpr std::string_view kScheme = "bearer ";

bool has_bearer_scheme(std::string_view authorization) {
  return authorization.size() > kScheme.size() &&
         equals_ignoring_case(authorization.substr(0, kScheme.size()), kScheme);
}

}  // namespace

ApiKeys::ApiKeys(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) digests_.push_back(digest(key));
}

bool ApiKeys::allows(std::string_view authorization) const {
  if (digests_.empty()) return true;
  if (!has_bearer_scheme(authorization)) return false;
  authorization.remove_prefix(kScheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  const Digest given = digest(authorization);
  int matches = 0;
  for (const Digest& known : digests_)  // all of them, whichever matches
    matches += CRYPTO_memcmp(known.data(), given.data(), given.size()) == 0 ? 1 : 0;
  return matches > 0;
}

ApiKeys::Digest ApiKeys::digest(std::string_view text) {
  Digest result{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), result.data());
  return result;
}

std::vector<std::string> read_api_keys(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    const std::string_view key = trimmed(line);
    if (!key.empty() && key.front() != '#') keys.emplace_back(key);
  }
  // A directory opens, and fails only when it is read.
  if (!file.is_open() || file.bad()) throw Error(ErrorCode::kNotFound, path + ": cannot be read", path);
  if (keys.empty()) throw Error(ErrorCode::kInvalidArgument, path + ": has no key", path);
  return keys;
}

}  // namespace d3::server
