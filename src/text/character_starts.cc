#include "text/character_starts.h"

#include <algorithm>

#include "text/code_points.h"

namespace d3::text {
namespace {

constexpr uint32_t kTableSize = 0x10000;

uint8_t byte_at(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }
bool is_continuation(uint8_t byte) { return byte >= 0x80 && byte < 0xC0; }

// The length of the character that a first byte announces.
size_t character_length(uint8_t lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

bool all_continuation(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return is_continuation(static_cast<uint8_t>(c)); });
}

// Whether the bytes are one whole character of two or three bytes (or look like one).
bool is_character(std::string_view bytes) {
  return (bytes.size() == 2 || bytes.size() == 3) && byte_at(bytes, 0) >= 0xC0 &&
         character_length(byte_at(bytes, 0)) == bytes.size() && all_continuation(bytes.substr(1));
}

}  // namespace

// Up to three bytes as a number.
uint32_t CharacterStarts::part_key(std::string_view part) {
  uint32_t key = static_cast<uint32_t>(part.size());
  for (const char c : part) key = key << 8 | static_cast<uint8_t>(c);
  return key;
}

void CharacterStarts::note_merge(std::string_view left, std::string_view right) {
  const uint8_t first = byte_at(right, 0);
  if (is_continuation(first)) return;  // goes on within a character
  if (left.size() <= 3 && all_continuation(left)) joined_ends_.insert(part_key(left));
  if (right.size() < character_length(first) && all_continuation(right.substr(1))) {
    const bool after_ascii = byte_at(left, left.size() - 1) < 0x80;
    joined_beginnings_[part_key(right)] |= !after_ascii;
  }
}

void CharacterStarts::build(const TokenTable& tokens, const std::vector<bool>& whole) {
  starts_.assign(kTableSize, kNone);
  for (size_t id = 0; id < tokens.id_count(); ++id) {
    const std::string_view bytes = tokens.bytes(id);
    if (!whole[id] || !is_character(bytes)) continue;
    bool joined = false, not_after_ascii = false;
    for (size_t cut = 1; cut < bytes.size(); ++cut) {
      joined = joined || joined_ends_.contains(part_key(bytes.substr(cut)));
      const auto beginning = joined_beginnings_.find(part_key(bytes.substr(0, cut)));
      if (beginning == joined_beginnings_.end()) continue;
      joined = joined || beginning->second;
      not_after_ascii = true;
    }
    const uint32_t code_point = decode_utf8(bytes, 0).code_point;
    if (!joined) starts_[code_point] = static_cast<int32_t>(id) << 1 | static_cast<int32_t>(not_after_ascii);
  }
}

}  // namespace d3::text
