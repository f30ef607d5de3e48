#include "hub/network_check.h"

#include <exception>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "hub/connection.h"
#include "hub/listing.h"
#include "hub/urls.h"
#include "json/parse.h"

namespace d3::hub {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxWhoamiBytes = size_t{256} << 10;

/// The measurement is over though the file is not.
class Enough : public std::exception {};

std::string user_in(const std::string& body) {
  try {
    const json::Value root = json::parse(body);
    const json::Value* name = root.find("name");
    return name != nullptr && name->is_string() ? name->as_string() : "";
  } catch (const Error&) {
    return {};
  }
}

TokenCheck::State state_of(long status, bool has_token, const std::string& user) {
  if (!has_token) return TokenCheck::State::kNone;
  if (status == 401 || status == 403) return TokenCheck::State::kRefused;
  return status == 200 && !user.empty() ? TokenCheck::State::kKnown : TokenCheck::State::kUnasked;
}

}  // namespace

TokenCheck check_token(const Settings& settings) {
  const auto token = read_token(settings);
  const Stop stop;
  Connection connection(settings, token, stop);
  std::string body;
  const Clock::time_point start = Clock::now();
  const Answer answer = connection.send(
      {.url = whoami_url(settings)}, [&](const Answer& from, std::span<const std::byte> piece) {
        if (piece.size() > kMaxWhoamiBytes - body.size())
          throw Error(ErrorCode::kUnavailable, fmt::format("{} says too much", from.host));
        body.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      });
  TokenCheck check;
  check.taken = Clock::now() - start;
  if (answer.status == 429 || answer.status >= 500)
    throw Error(ErrorCode::kUnavailable, fmt::format("{} answers {}", answer.host, answer.status));
  if (answer.status == 200) check.user = user_in(body);
  check.state = state_of(answer.status, token.has_value(), check.user);
  return check;
}

RateCheck check_rate(const ModelName& name, const Settings& settings, std::chrono::milliseconds most,
                     uint64_t most_bytes) {
  const Stop stop;
  Connection connection(settings, read_token(settings), stop);
  const Listing listing = parse_listing(
      connection.get_text(listing_url(settings, name), kMaxListingBytes, name.repo, name.revision));
  leading_files(listing, name.repo);  // refuses what is no decision model
  RateCheck check;
  const RemoteFile* largest = &listing.files.front();
  for (const RemoteFile& file : listing.files) {
    if (file.path.ends_with(".safetensors")) check.weight_bytes += file.bytes.value_or(0);
    if (file.bytes.value_or(0) > largest->bytes.value_or(0)) largest = &file;
  }
  Request request{.url = file_url(settings, name, listing.commit, largest->path)};
  if (largest->bytes.value_or(0) > most_bytes) request.range = {.first = 0, .last = most_bytes - 1};
  std::optional<Clock::time_point> first;
  try {
    const Answer answer = connection.send(request, [&](const Answer& from, std::span<const std::byte> piece) {
      const Clock::time_point now = Clock::now();
      if (!first) first = now;
      check.host = from.host;
      check.bytes += piece.size();
      check.taken = now - *first;
      if (check.taken >= most || check.bytes >= most_bytes) throw Enough();
    });
    check_status(answer, settings, name.repo, name.revision);
  } catch (const Enough&) {
    return check;
  }
  return check;
}

}  // namespace d3::hub
