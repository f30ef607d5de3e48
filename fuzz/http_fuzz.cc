// The bytes of a connection, from its first request on: the first byte of the input says in which portions
// they come. Whatever they are, the reader gives the same requests as when each byte comes alone, holds a
// bounded part of what it was sent, and ends with one of its two errors.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/request_reader.h"

namespace {

using namespace d3;
using server::RequestHead;
using server::RequestReader;

constexpr size_t kMaxHead = 512;
constexpr size_t kReadAhead = 128 << 10;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Seen {
  std::vector<std::string> requests;  // heads with whole bodies
  std::string cut;                    // the head of one that had begun, with what had come of its body
  bool refused = false;
};

std::string text_of(const RequestHead& head) {
  std::string text = head.method + ' ' + head.target + ' ' + head.path + ' ' + std::to_string(head.version);
  text += head.keep_alive ? " keep" : " close";
  if (head.chunked) text += " chunked";
  if (head.content_length) text += ' ' + std::to_string(*head.content_length);
  for (const std::string* field : {&head.content_type, &head.content_encoding, &head.transfer_encoding,
                                   &head.expect, &head.authorization, &head.origin, &head.requested_method,
                                   &head.requested_headers, &head.sent_request_id})
    text += '|' + *field;
  return text + '\n';
}

void check_head(const RequestHead& head) {
  require(!head.method.empty() && !head.target.empty() && (head.version == 10 || head.version == 11));
  require(!(head.chunked && head.content_length));
  require(head.method.size() + head.target.size() + head.content_type.size() <= kMaxHead);
}

/// Takes what can be read; false when more must come.
bool read_request(RequestReader& reader, bool& in_body, Seen& seen) {
  if (!in_body) {
    if (!reader.read_head()) return false;
    check_head(reader.head());
    seen.cut = text_of(reader.head());
    in_body = true;
  }
  for (auto piece = reader.next_piece(); !piece.empty(); piece = reader.next_piece()) seen.cut += piece;
  if (!reader.done()) return false;
  seen.requests.push_back(std::move(seen.cut));
  seen.cut.clear();
  in_body = false;
  reader.next();
  return true;
}

Seen read_all(std::string_view bytes, size_t portion) {
  RequestReader reader(kMaxHead);
  Seen seen;
  bool in_body = false;
  try {
    while (!bytes.empty()) {
      const std::span<char> room = reader.room(std::min(portion, bytes.size()));
      require(!room.empty());
      std::memcpy(room.data(), bytes.data(), room.size());
      reader.commit(room.size());
      bytes.remove_prefix(room.size());
      while (read_request(reader, in_body, seen)) {
      }
      require(reader.buffered() <= kMaxHead + kReadAhead);
    }
  } catch (const Error& error) {
    require(error.code() == ErrorCode::kInvalidArgument || error.code() == ErrorCode::kHeaderTooLarge);
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    seen.refused = true;
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Seen alone = read_all(bytes, 1);
  const Seen together = read_all(bytes, size_t{data[0]} * 16 + 2);
  require(alone.requests == together.requests);
  // What is broken may be found sooner when more is there at once, never the other way round.
  require(together.refused || !alone.refused);
  if (!together.refused) require(alone.cut == together.cut);
  return 0;
}
