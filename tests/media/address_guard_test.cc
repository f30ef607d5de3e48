#include "media/address_guard.h"

#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace d3::media {
namespace {

sockaddr_storage parse(const std::string& text) {
  sockaddr_storage storage{};
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    std::memcpy(&storage, &four, sizeof four);
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &six.sin6_addr), 1) << text;
    six.sin6_family = AF_INET6;
    std::memcpy(&storage, &six, sizeof six);
  }
  return storage;
}

bool is_public(const std::string& text) {
  const sockaddr_storage storage = parse(text);
  return is_public_address(reinterpret_cast<const sockaddr&>(storage));
}

bool is_loopback(const std::string& text) {
  const sockaddr_storage storage = parse(text);
  return is_loopback_address(reinterpret_cast<const sockaddr&>(storage));
}

TEST(AddressGuardTest, PrivateAddressesAreRefused) {
  for (const char* address : {"0.0.0.0",
                              "0.1.2.3",
                              "10.0.0.1",
                              "10.255.255.255",
                              "100.64.0.1",
                              "100.100.100.200",
                              "100.127.255.255",
                              "127.0.0.1",
                              "127.1.2.3",
                              "127.255.255.255",
                              "168.63.129.16",
                              "169.254.0.1",
                              "169.254.169.254",
                              "169.254.170.2",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.0.0.1",
                              "192.0.0.192",
                              "192.0.2.1",
                              "192.88.99.1",
                              "192.168.0.1",
                              "192.168.255.255",
                              "198.18.0.1",
                              "198.19.255.255",
                              "198.51.100.7",
                              "203.0.113.9",
                              "224.0.0.1",
                              "239.255.255.255",
                              "240.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "::7f00:1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.0.0.1",
                              "::ffff:0.0.0.0",
                              "::ffff:169.254.169.254",
                              "::ffff:0:127.0.0.1",
                              "64:ff9b::10.0.0.1",
                              "64:ff9b::a9fe:a9fe",
                              "64:ff9b:1::1",
                              "100::1",
                              "2001::1",
                              "2001:0:7f00:1::1",
                              "2001:10::1",
                              "2001:20::1",
                              "2001:db8::1",
                              "2002:7f00:1::1",
                              "2002:a00:1::1",
                              "3fff::1",
                              "4000::1",
                              "5f00::1",
                              "fc00::1",
                              "fd00:ec2::254",
                              "fdff::1",
                              "fe80::1",
                              "fe80::a9fe:a9fe",
                              "febf::1",
                              "fec0::1",
                              "ff00::1",
                              "ff02::1",
                              "ff0e::1"})
    EXPECT_FALSE(is_public(address)) << address;
}

TEST(AddressGuardTest, PublicAddressesAreTaken) {
  for (const char* address :
       {"1.1.1.1",         "8.8.8.8",          "9.255.255.255",   "11.0.0.0",
        "93.184.216.34",   "100.63.255.255",   "100.128.0.0",     "126.255.255.255",
        "128.0.0.1",       "168.63.129.15",    "169.253.255.255", "169.255.0.0",
        "172.15.255.255",  "172.32.0.0",       "192.0.1.1",       "192.167.255.255",
        "192.169.0.0",     "198.17.255.255",   "198.20.0.0",      "223.255.255.255",
        "::ffff:8.8.8.8",  "64:ff9b::8.8.8.8", "2001:200::1",     "2001:4860:4860::8888",
        "2606:4700::1111", "2a00:1450::1",     "3ffe::1"})
    EXPECT_TRUE(is_public(address)) << address;
}

TEST(AddressGuardTest, OtherFamiliesAreRefused) {
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  EXPECT_FALSE(is_public_address(reinterpret_cast<const sockaddr&>(local)));
}

TEST(AddressGuardTest, LoopbackIsKnown) {
  for (const char* address : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address : {"128.0.0.1", "10.0.0.1", "::2", "::", "fe80::1", "::ffff:10.0.0.1"})
    EXPECT_FALSE(is_loopback(address)) << address;
}

TEST(AddressGuardTest, NamesOfPrivateNetworksAreRefused) {
  for (const char* name : {"localhost", "LocalHost", "localhost.", "a.localhost", "printer.local",
                           "metadata.google.internal", "host.docker.INTERNAL.", "nas.home.arpa"})
    EXPECT_TRUE(is_private_name(name)) << name;
  for (const char* name :
       {"example.com", "localhost.example.com", "notlocalhost", "internal.example.com", ""})
    EXPECT_FALSE(is_private_name(name)) << name;
}

TEST(AddressGuardTest, HostsMatchPatterns) {
  EXPECT_TRUE(host_matches("images.example.com", "images.example.com"));
  EXPECT_TRUE(host_matches("Images.Example.com.", "images.example.com"));
  EXPECT_TRUE(host_matches("a.example.com", "*.example.com"));
  EXPECT_TRUE(host_matches("a.b.example.com", "*.Example.com"));
  EXPECT_FALSE(host_matches("example.com", "*.example.com"));
  EXPECT_FALSE(host_matches("badexample.com", "*.example.com"));
  EXPECT_FALSE(host_matches("example.com.evil.org", "example.com"));
  EXPECT_FALSE(host_matches("", "example.com"));
}

}  // namespace
}  // namespace d3::media
