#include "text/token_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace d3::text {
namespace {

constexpr uint64_t kMix = 0x9E3779B97F4A7C15;
constexpr size_t kInline = 8;  // bytes that fit a key

template <size_t kCount>
uint64_t load(const char* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, kCount);
  return value;
}

// Up to eight bytes: a number that no other bytes of the same length have. Longer: a hash.
uint64_t key_of(std::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t hash = 0;
  for (; left > kInline; at += kInline, left -= kInline) {
    hash = (hash ^ load<8>(at)) * kMix;
    hash ^= hash >> 32;
  }
  if (left >= 4) return hash ^ (load<4>(at) | load<4>(at + left - 4) << 32);
  if (left >= 2) return hash ^ (load<2>(at) | load<2>(at + left - 2) << 16);
  return left == 1 ? hash ^ load<1>(at) : hash;
}

}  // namespace

TokenTable::TokenTable(size_t tokens) : slots_(std::bit_ceil(2 * tokens + 2)), room_(slots_.size() / 2) {}

inline TokenTable::Probe TokenTable::probe_of(std::string_view bytes) const {
  const uint64_t key = key_of(bytes);
  return {bytes, key, ((key + bytes.size()) * kMix >> 32) & (slots_.size() - 1)};
}

TokenTable::Probe TokenTable::make_probe(std::string_view bytes) const {
  const Probe probe = probe_of(bytes);
  __builtin_prefetch(&slots_[probe.home]);
  return probe;
}

// The slot that holds these bytes, or the empty one where they belong.
inline size_t TokenTable::slot_of(const Probe& probe) const {
  const auto length = static_cast<uint32_t>(probe.bytes.size());
  for (size_t at = probe.home;; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.id == kNone) return at;
    if (slot.key != probe.key || slot.length != length) continue;
    if (length <= kInline || bytes(static_cast<size_t>(slot.id)) == probe.bytes) return at;
  }
}

int32_t TokenTable::find(const Probe& probe) const { return slots_[slot_of(probe)].id; }

int32_t TokenTable::find(std::string_view bytes) const {
  return bytes.empty() || bytes.size() > longest_ ? kNone : slots_[slot_of(probe_of(bytes))].id;
}

bool TokenTable::add(const Probe& probe, int32_t id) {
  const auto index = static_cast<size_t>(id);
  if (index >= places_.size()) places_.resize(index + 1);
  Slot& slot = slots_[slot_of(probe)];
  if (slot.id != kNone || places_[index].length != 0 || room_ == 0) return false;
  --room_;
  const auto length = static_cast<uint32_t>(probe.bytes.size());
  places_[index] = {static_cast<uint32_t>(pool_.size()), length};
  pool_.append(probe.bytes);
  slot = {probe.key, length, id};
  longest_ = std::max(longest_, probe.bytes.size());
  return true;
}

}  // namespace d3::text
