#include "hub/digest.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "checkpoint/messages.h"
#include "checkpoint/sha256.h"

namespace d3::hub {
namespace {

constexpr size_t kSha256Digits = 64;
constexpr size_t kSha1Digits = 40;

void require(int status) {
  if (status != 1) throw Error(ErrorCode::kInternal, "OpenSSL cannot compute SHA-1");
}

std::string git_sha1(const std::filesystem::path& path) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  require(context ? 1 : 0);
  require(EVP_DigestInit_ex(context.get(), EVP_sha1(), nullptr));
  const std::string prefix = fmt::format("blob {}", std::filesystem::file_size(path));
  require(EVP_DigestUpdate(context.get(), prefix.c_str(), prefix.size() + 1));  // with its zero byte
  std::ifstream file(path, std::ios::binary);
  std::array<char, 1 << 16> piece{};
  while (file.read(piece.data(), piece.size()), file.gcount() > 0)
    require(EVP_DigestUpdate(context.get(), piece.data(), static_cast<size_t>(file.gcount())));
  if (file.bad() || !file.eof()) throw checkpoint::bad_file(path, "cannot be read");
  std::array<unsigned char, kSha1Digits / 2> digest{};
  require(EVP_DigestFinal_ex(context.get(), digest.data(), nullptr));
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace

bool is_digest(std::string_view etag) {
  const bool length = etag.size() == kSha256Digits || etag.size() == kSha1Digits;
  return length &&
         std::ranges::all_of(etag, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string digest_like(std::string_view etag, const std::filesystem::path& file,
                        const std::function<void(size_t bytes)>& on_read) {
  if (!is_digest(etag)) return {};
  if (etag.size() == kSha256Digits) return checkpoint::to_hex(checkpoint::sha256_of_file(file, on_read));
  return git_sha1(file);
}

}  // namespace d3::hub
