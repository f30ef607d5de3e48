// What a hub, a user and an earlier run hand to the hub room: the input's first byte chooses the parser. What
// is accepted stays inside the cache.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "checkpoint/file.h"
#include "hub/blob_file.h"
#include "hub/listing.h"
#include "hub/model_name.h"
#include "hub/response.h"
#include "require.h"

namespace {

using namespace d3;

bool is_one_name(std::string_view text) {
  return checkpoint::stays_inside(text) && text.find('/') == std::string_view::npos;
}

void check_listing(std::string_view text) {
  const hub::Listing listing = hub::parse_listing(text);
  fuzz::require(hub::is_commit(listing.commit));
  for (const hub::RemoteFile& file : listing.files) {
    fuzz::require(checkpoint::stays_inside(file.path));
    fuzz::require(file.etag.empty() || is_one_name(file.etag));
  }
  hub::leading_files(listing, "o/m");
  for (const std::string& path : hub::needed_files(listing, "o/m", {}, {}))
    fuzz::require(listing.find(path) != nullptr);
}

void check_name(std::string_view text) {
  const size_t line = std::min(text.find('\n'), text.size());
  const auto name = hub::parse_model_name(text.substr(0, line), text.substr(std::min(line + 1, text.size())));
  fuzz::require(checkpoint::stays_inside(name.repo) && checkpoint::stays_inside(name.revision));
  fuzz::require(hub::parse_model_name(hub::to_text(name)) == name);
}

void check_headers(std::string_view text) {
  hub::Headers headers;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n') + 1, text.size());
    const size_t size = end == 0 ? text.size() : end;
    hub::add_header_line(headers, text.substr(0, size));
    text.remove_prefix(size);
  }
  for (const auto& [name, value] : headers) {
    const auto range = hub::parse_content_range(value);
    fuzz::require(!range || (range->first <= range->last && range->last < range->total));
    const auto after = hub::parse_retry_after(value, std::chrono::system_clock::from_time_t(1'000'000'000));
    fuzz::require(!after || after->count() >= 0);
    const std::string etag = hub::etag_from_header(value);
    fuzz::require(etag.empty() || is_one_name(etag));
    hub::byte_count(headers, name);
  }
}

void check_journal(std::span<const std::byte> text) {
  constexpr uint64_t kBytes = 1000;
  if (const auto journal = hub::parse_journal(text, kBytes))
    fuzz::require(std::ranges::equal(hub::write_journal(*journal), text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 'l') check_listing(text);
    if (data[0] == 'i') hub::shards_of_index(text, "index");
    if (data[0] == 'n') check_name(text);
    if (data[0] == 'h') check_headers(text);
    if (data[0] == 'j') check_journal(std::as_bytes(std::span(text)));
  } catch (const Error& error) {
    const std::string_view message = error.what();
    fuzz::require(!message.empty() && message.find('\n') == std::string_view::npos);
  }
  return 0;
}
