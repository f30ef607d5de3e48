#include "server/request_id.h"

#include <algorithm>

#include <fmt/format.h>

namespace d3::server {
namespace {

constexpr size_t kMaxLength = 128;

std::mt19937_64 seeded() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  return std::mt19937_64(seed);
}

}  // namespace

bool is_usable_request_id(std::string_view id) {
  return !id.empty() && id.size() <= kMaxLength &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

RequestIds::RequestIds() : random_(seeded()) {}

std::string RequestIds::next() { return fmt::format("{:016x}", random_()); }

}  // namespace d3::server
