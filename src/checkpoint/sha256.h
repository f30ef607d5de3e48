// checkpoint/sha256.h: SHA-256 (FIPS 180-4) of bytes and of files, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace d3::checkpoint {

/// One hash being computed. Throws Error(kInternal) when OpenSSL refuses (it has no SHA-256, or no memory).
class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  Sha256();
  void update(std::span<const std::byte> bytes);
  /// The digest of all updates; the object is done with.
  Digest finish();

  static Digest of(std::span<const std::byte> bytes);

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

/// 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256::Digest& digest);

/// The digest of a file, read in pieces; `on_read` hears of the size of each. Throws Error(kBadCheckpoint)
/// when it cannot be read.
Sha256::Digest sha256_of_file(const std::filesystem::path& path,
                              const std::function<void(size_t bytes)>& on_read = {});

}  // namespace d3::checkpoint
