// text/token_table.h: token bytes <-> token id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/huge_pages.h"

namespace d3::text {

/// A hash table of byte strings made to be asked far more often than filled: a token of up to eight bytes is
/// found with one access to memory.
class TokenTable {
 public:
  static constexpr int32_t kNone = -1;

  /// `tokens`: about how many will be added.
  explicit TokenTable(size_t tokens);

  /// The bytes of a token and where the table will look for them. make_probe() asks for that memory, so that
  /// a batch of probes waits for it only once.
  struct Probe {
    std::string_view bytes;
    uint64_t key;
    size_t home;
  };
  Probe make_probe(std::string_view bytes) const;

  /// Takes a token that is not there yet: bytes not empty, id >= 0. False, and nothing is added, when the
  /// bytes or the id are taken.
  bool add(const Probe& probe, int32_t id);

  /// The id of these bytes, or kNone.
  int32_t find(const Probe& probe) const;
  int32_t find(std::string_view bytes) const;

  /// The bytes of an id < id_count(); empty for ids without a token.
  std::string_view bytes(size_t id) const {
    return std::string_view(pool_).substr(places_[id].offset, places_[id].length);
  }

  /// One more than the largest id.
  size_t id_count() const { return places_.size(); }

 private:
  struct Slot {
    uint64_t key = 0;  // the bytes themselves where they fit, else a hash of them
    uint32_t length = 0;
    int32_t id = kNone;
  };
  struct Place {
    uint32_t offset = 0, length = 0;  // in pool_
  };

  Probe probe_of(std::string_view bytes) const;
  size_t slot_of(const Probe& probe) const;

  LargeTable<Slot> slots_;    // open addressing; a power of two, at most half full
  LargeTable<Place> places_;  // by id
  std::string pool_;
  size_t longest_ = 0;
  size_t room_;
};

}  // namespace d3::text
