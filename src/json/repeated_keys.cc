#include "json/repeated_keys.h"

#include <algorithm>
#include <functional>

namespace d3::json {
namespace {

/// As many members are compared each with each; more are sorted.
constexpr size_t kFew = 8;

/// Marks every member whose key stood before and hands its value to the first of its key.
std::vector<bool> find_repeated_among_few(Object& object) {
  std::vector<bool> repeated(object.size(), false);
  for (size_t i = 1; i < object.size(); ++i) {
    for (size_t first = 0; first < i && !repeated[i]; ++first) {
      if (repeated[first] || object[first].key != object[i].key) continue;
      object[first].value = std::move(object[i].value);
      repeated[i] = true;
    }
  }
  return repeated;
}

/// The same by sorting: by hash, and by the keys themselves where hashes meet, so that keys chosen to collide
/// gain nothing.
std::vector<bool> find_repeated_among_many(Object& object) {
  struct Entry {
    size_t hash;
    size_t index;
  };
  std::vector<Entry> entries(object.size());
  for (size_t i = 0; i < object.size(); ++i) entries[i] = {std::hash<std::string>()(object[i].key), i};
  std::ranges::sort(entries, [&](const Entry& a, const Entry& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    const int order = object[a.index].key.compare(object[b.index].key);
    return order != 0 ? order < 0 : a.index < b.index;
  });

  std::vector<bool> repeated(object.size(), false);
  size_t first = 0;
  for (size_t i = 1; i < entries.size(); ++i) {
    const bool same = entries[first].hash == entries[i].hash &&
                      object[entries[first].index].key == object[entries[i].index].key;
    if (!same) {
      first = i;
      continue;
    }
    object[entries[first].index].value = std::move(object[entries[i].index].value);
    repeated[entries[i].index] = true;
  }
  return repeated;
}

}  // namespace

void merge_repeated_keys(Object& object) {
  if (object.size() < 2) return;
  const std::vector<bool> repeated =
      object.size() <= kFew ? find_repeated_among_few(object) : find_repeated_among_many(object);
  size_t kept = 0;
  for (size_t i = 0; i < object.size(); ++i) {
    if (repeated[i]) continue;
    if (kept != i) object[kept] = std::move(object[i]);
    ++kept;
  }
  object.resize(kept);
}

}  // namespace d3::json
