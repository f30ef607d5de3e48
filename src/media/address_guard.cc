#include "media/address_guard.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <netinet/in.h>

#include "base/ascii.h"

namespace d3::media {
namespace {

using Ipv6 = std::array<uint8_t, 16>;

struct Ipv4Range {
  uint32_t base;
  int prefix;
};

constexpr uint32_t ipv4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a << 24U | b << 16U | c << 8U | d;
}

constexpr Ipv4Range kIpv4Loopback{ipv4(127, 0, 0, 0), 8};

constexpr Ipv4Range kIpv4Special[] = {
    {ipv4(0, 0, 0, 0), 8},         // this network, unspecified
    {ipv4(10, 0, 0, 0), 8},        // private
    {ipv4(100, 64, 0, 0), 10},     // shared; Alibaba's metadata
    kIpv4Loopback,                 //
    {ipv4(168, 63, 129, 16), 32},  // Azure's platform services
    {ipv4(169, 254, 0, 0), 16},    // link-local; AWS, Azure, Google metadata
    {ipv4(172, 16, 0, 0), 12},     // private
    {ipv4(192, 0, 0, 0), 24},      // protocol assignments; Oracle's metadata
    {ipv4(192, 0, 2, 0), 24},      // documentation
    {ipv4(192, 31, 196, 0), 24},   // AS112
    {ipv4(192, 52, 193, 0), 24},   // AMT
    {ipv4(192, 88, 99, 0), 24},    // 6to4 relays
    {ipv4(192, 168, 0, 0), 16},    // private
    {ipv4(192, 175, 48, 0), 24},   // AS112
    {ipv4(198, 18, 0, 0), 15},     // benchmarks
    {ipv4(198, 51, 100, 0), 24},   // documentation
    {ipv4(203, 0, 113, 0), 24},    // documentation
    {ipv4(224, 0, 0, 0), 4},       // multicast
    {ipv4(240, 0, 0, 0), 4},       // reserved, broadcast
};

bool in_range(uint32_t address, Ipv4Range range) {
  return (address ^ range.base) >> static_cast<unsigned>(32 - range.prefix) == 0;
}

bool is_public_ipv4(uint32_t address) {
  return std::none_of(std::begin(kIpv4Special), std::end(kIpv4Special),
                      [&](Ipv4Range range) { return in_range(address, range); });
}

struct Ipv6Range {
  Ipv6 base;
  int prefix;
};

/// Within 2000::/3, which alone is handed out.
constexpr Ipv6Range kIpv6Special[] = {
    {{0x20, 0x01, 0x00}, 23},                    // protocol assignments: Teredo, ORCHID, benchmarks
    {{0x20, 0x01, 0x0D, 0xB8}, 32},              // documentation
    {{0x20, 0x02}, 16},                          // 6to4
    {{0x26, 0x20, 0x00, 0x4F, 0x80, 0x00}, 48},  // AS112
    {{0x3F, 0xFF, 0x00}, 20},                    // documentation
};
constexpr Ipv6Range kIpv6Global{{0x20}, 3};
constexpr Ipv6Range kIpv4Mapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 96};
constexpr Ipv6Range kNat64{{0x00, 0x64, 0xFF, 0x9B}, 96};

bool in_range(const Ipv6& address, const Ipv6Range& range) {
  for (int bit = 0; bit < range.prefix; ++bit) {
    const auto byte = static_cast<size_t>(bit / 8);
    const unsigned mask = 0x80U >> static_cast<unsigned>(bit % 8);
    if (((address[byte] ^ range.base[byte]) & mask) != 0) return false;
  }
  return true;
}

/// The IPv4 address in the last four bytes.
uint32_t carried_ipv4(const Ipv6& address) {
  return ipv4(address[12], address[13], address[14], address[15]);
}

bool is_public_ipv6(const Ipv6& address) {
  if (in_range(address, kIpv4Mapped) || in_range(address, kNat64))
    return is_public_ipv4(carried_ipv4(address));
  return in_range(address, kIpv6Global) &&
         std::none_of(std::begin(kIpv6Special), std::end(kIpv6Special),
                      [&](const Ipv6Range& range) { return in_range(address, range); });
}

bool is_loopback_ipv6(const Ipv6& address) {
  if (in_range(address, kIpv4Mapped)) return in_range(carried_ipv4(address), kIpv4Loopback);
  constexpr Ipv6 kLoopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address == kLoopback;
}

// The address's family says which structure it is; copying keeps that free of aliasing.

uint32_t as_ipv4(const sockaddr& address) {
  sockaddr_in typed{};
  std::memcpy(&typed, &address, sizeof typed);
  return ntohl(typed.sin_addr.s_addr);
}

Ipv6 as_ipv6(const sockaddr& address) {
  sockaddr_in6 typed{};
  std::memcpy(&typed, &address, sizeof typed);
  Ipv6 bytes{};
  std::memcpy(bytes.data(), &typed.sin6_addr, bytes.size());
  return bytes;
}

std::string plain_name(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  std::ranges::transform(name, name.begin(), ascii_lower);
  return name;
}

}  // namespace

bool is_public_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) return is_public_ipv4(as_ipv4(address));
  return address.sa_family == AF_INET6 && is_public_ipv6(as_ipv6(address));
}

bool is_loopback_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) return in_range(as_ipv4(address), kIpv4Loopback);
  return address.sa_family == AF_INET6 && is_loopback_ipv6(as_ipv6(address));
}

bool is_private_name(std::string_view host) {
  const std::string name = plain_name(host);
  if (name == "localhost") return true;
  for (const std::string_view suffix : {".localhost", ".local", ".internal", ".home.arpa"})
    if (name.ends_with(suffix)) return true;
  return false;
}

bool host_matches(std::string_view host, std::string_view pattern) {
  const std::string name = plain_name(host);
  const std::string wanted = plain_name(pattern);
  if (!wanted.starts_with("*.")) return name == wanted;
  return name.size() + 1 > wanted.size() && name.ends_with(std::string_view(wanted).substr(1));
}

}  // namespace d3::media
