#include "checkpoint/sha256.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "base/error.h"
#include "checkpoint/file.h"
#include "checkpoint/messages.h"

namespace d3::checkpoint {
namespace {

// Large enough that reading costs little beside hashing, small enough for the second-level cache.
constexpr size_t kPiece = size_t{256} << 10;

void require(int status) {
  if (status != 1) throw Error(ErrorCode::kInternal, "OpenSSL cannot compute SHA-256");
}

EVP_MD_CTX* context_of(void* pointer) { return static_cast<EVP_MD_CTX*>(pointer); }

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(context_of(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ ? 1 : 0);
  require(EVP_DigestInit_ex(context_of(context_.get()), EVP_sha256(), nullptr));
}

void Sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_of(context_.get()), bytes.data(), bytes.size()));
}

Sha256::Digest Sha256::finish() {
  Digest digest{};
  require(EVP_DigestFinal_ex(context_of(context_.get()), digest.data(), nullptr));
  return digest;
}

Sha256::Digest Sha256::of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string to_hex(const Sha256::Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Sha256::Digest sha256_of_file(const std::filesystem::path& path,
                              const std::function<void(size_t bytes)>& on_read) {
  const FileDescriptor file = open_regular_file(path);
  Sha256 hash;
  std::vector<std::byte> piece(kPiece);
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw bad_file(path, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) return hash.finish();
    hash.update({piece.data(), static_cast<size_t>(got)});
    if (on_read) on_read(static_cast<size_t>(got));
  }
}

}  // namespace d3::checkpoint
