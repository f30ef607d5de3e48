// server/request_id.h: the id that follows a request through headers, answer and log.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace d3::server {

/// Whether a client's own id is taken over: 1 to 128 visible ASCII characters (contract, section 4).
bool is_usable_request_id(std::string_view id);

/// Gives every request without an id of its own a random one of 16 hexadecimal digits. Not thread-safe.
class RequestIds {
 public:
  RequestIds();
  std::string next();

 private:
  std::mt19937_64 random_;
};

}  // namespace d3::server
