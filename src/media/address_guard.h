// media/address_guard.h: which addresses and names media may be fetched from.
#pragma once

#include <string_view>

#include <sys/socket.h>

namespace d3::media {

/// Whether the address is one of the public Internet: not loopback, private, shared (RFC 6598), link-local,
/// multicast, unspecified, reserved, for documentation, or of a cloud's metadata service; IPv6 that carries
/// an IPv4 address (mapped, NAT64) is judged by it, 6to4 and Teredo are refused whole. The ranges are IANA's
/// special-purpose registries. Anything but IPv4 and IPv6 is not public.
bool is_public_address(const sockaddr& address);

/// 127.0.0.0/8, ::1 and their IPv4-mapped form.
bool is_loopback_address(const sockaddr& address);

/// Whether a host's name stands for the machine itself or a private network by definition (`localhost`,
/// `*.localhost`, `*.local`, `*.internal`, `*.home.arpa`), so that it is never looked up. Case and a trailing
/// dot do not matter.
bool is_private_name(std::string_view host);

/// Whether `host` is `pattern` or, for a pattern `*.example.com`, a name under example.com. Case and trailing
/// dots do not matter.
bool host_matches(std::string_view host, std::string_view pattern);

}  // namespace d3::media
