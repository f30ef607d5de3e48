#include "hub/connection.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

namespace d3::hub {
namespace {

constexpr int kMaxRedirects = 10;
/// What an answer that is not used may carry before the connection is given up.
constexpr size_t kMaxIgnoredBytes = 64 * 1024;
/// Slower than this for stall_timeout is as good as standing still.
constexpr long kStallBytesPerSecond = 100;

bool is_good(long status) { return status == 200 || status == 206; }

bool same_origin(const net::Url& a, const net::Url& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

net::Url endpoint_of(const Settings& settings) {
  auto url = net::parse_url(settings.endpoint);
  if (!url || url->has_user)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("HF_ENDPOINT must be an http or https URL, not {}", settings.endpoint),
                "HF_ENDPOINT");
  return *std::move(url);
}

std::string host_and_port(const net::Url& url) {
  const bool usual = url.port == (url.scheme == "https" ? "443" : "80");
  return usual ? url.host : url.host + ':' + url.port;
}

}  // namespace

struct Connection::Transfer {
  CURL* handle;
  const Stop& stop;
  const Sink& sink;
  Answer& answer;
  net::List headers = nullptr;
  size_t ignored_bytes = 0;
  std::exception_ptr error = nullptr;

  static size_t take_header(char* data, size_t /*one*/, size_t size, void* user) {
    add_header_line(static_cast<Transfer*>(user)->answer.headers, {data, size});
    return size;
  }

  static size_t take_body(char* data, size_t /*one*/, size_t size, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    transfer.answer.status = net::status_of(transfer.handle);
    if (!is_good(transfer.answer.status)) {
      transfer.ignored_bytes += size;
      return transfer.ignored_bytes <= kMaxIgnoredBytes ? size : CURL_WRITEFUNC_ERROR;
    }
    try {
      transfer.sink(transfer.answer, std::as_bytes(std::span(data, size)));
    } catch (...) {
      transfer.error = std::current_exception();
      return CURL_WRITEFUNC_ERROR;
    }
    return size;
  }

  static int check_stop(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(user)->stop.requested() ? 1 : 0;
  }
};

Connection::Connection(const Settings& settings, std::optional<std::string> token, const Stop& stop)
    : settings_(settings),
      token_(std::move(token)),
      stop_(stop),
      endpoint_(endpoint_of(settings)),
      handle_(net::new_handle()) {}

void Connection::configure(Transfer& transfer, const Request& request, const net::Url& url) {
  CURL* handle = transfer.handle;
  curl_easy_reset(handle);  // connections stay
  const auto set = [&](CURLoption option, auto value) { net::set_option(handle, option, value); };
  set(CURLOPT_URL, url.text.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});  // several streams, not one with several in it
  set(CURLOPT_FOLLOWLOCATION, 0L);                         // send() does, and drops the token
  set(CURLOPT_PROXY, url.scheme == "https" ? settings_.https_proxy.c_str() : settings_.http_proxy.c_str());
  set(CURLOPT_NOPROXY, settings_.no_proxy.c_str());
  if (!settings_.certificates.empty()) set(CURLOPT_CAINFO, settings_.certificates.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings_.connect_timeout.count()));
  set(CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(settings_.stall_timeout.count()));
  set(CURLOPT_USERAGENT, "d3.cpp");
  if (request.head) set(CURLOPT_NOBODY, 1L);
  if (request.range)
    set(CURLOPT_RANGE, fmt::format("{}-{}", request.range->first, request.range->last).c_str());
  if (token_ && same_origin(url, endpoint_)) {
    transfer.headers.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + *token_).c_str()));
    set(CURLOPT_HTTPHEADER, transfer.headers.get());
  }
  set(CURLOPT_HEADERFUNCTION, &Transfer::take_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
  set(CURLOPT_WRITEFUNCTION, &Transfer::take_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Transfer::check_stop);
  set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
}

void Connection::fail(int code, const Transfer& transfer) const {
  if (transfer.error) std::rethrow_exception(transfer.error);
  if (stop_.requested()) throw Stopped();
  const std::string& host = transfer.answer.host;
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      throw TransientError(fmt::format("the host {} is not known (is there a network?)", host));
    case CURLE_COULDNT_RESOLVE_PROXY:
      throw TransientError("the proxy's host is not known");
    case CURLE_COULDNT_CONNECT:
      throw TransientError(fmt::format("{} does not answer (is there a network?)", host));
    case CURLE_OPERATION_TIMEDOUT:
      throw TransientError(fmt::format("the connection to {} stalled", host));
    case CURLE_PEER_FAILED_VERIFICATION:
      throw Error(ErrorCode::kUnavailable, fmt::format("the certificate of {} is not valid here", host));
    case CURLE_WRITE_ERROR:  // the ignored body of a bad answer is too long: its status says enough
      throw TransientError(fmt::format("{} answers {}", host, transfer.answer.status));
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      throw TransientError(fmt::format("{} cut the connection", host));
    default:
      throw TransientError(fmt::format("the exchange with {} failed: {}", host,
                                       curl_easy_strerror(static_cast<CURLcode>(code))));
  }
}

Answer Connection::send(const Request& request, const Sink& sink) {
  Answer answer;
  std::string next = request.url;
  std::string scheme = endpoint_.scheme;
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    if (stop_.requested()) throw Stopped();
    const auto url = net::parse_url(next);
    if (!url || url->has_user || (scheme == "https" && url->scheme != "https"))
      throw Error(ErrorCode::kUnavailable, fmt::format("{} redirects to what is not followed", answer.host));
    scheme = url->scheme;
    answer.host = host_and_port(*url);
    answer.from_endpoint = same_origin(*url, endpoint_);
    answer.status = 0;
    answer.headers.clear();
    Transfer transfer{.handle = handle_.get(), .stop = stop_, .sink = sink, .answer = answer};
    configure(transfer, request, *url);
    const CURLcode code = curl_easy_perform(handle_.get());
    if (code != CURLE_OK) fail(code, transfer);
    answer.status = net::status_of(handle_.get());
    if (answer.from_endpoint) answer.endpoint_headers = answer.headers;
    if (!net::is_redirect(answer.status)) return answer;
    const auto target = net::redirect_target(handle_.get());
    if (!target)
      throw Error(ErrorCode::kUnavailable, fmt::format("{} redirects without saying where", answer.host));
    next = *target;
  }
  throw Error(ErrorCode::kUnavailable, fmt::format("{} redirects too often", answer.host));
}

std::string Connection::get_text(const std::string& url, size_t limit, const std::string& repo,
                                 const std::string& revision) {
  std::string text;
  const Answer answer = send({.url = url}, [&](const Answer& from, std::span<const std::byte> piece) {
    if (piece.size() > limit - text.size())
      throw Error(ErrorCode::kUnavailable,
                  fmt::format("{} answers with more than {} bytes", from.host, limit));
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  check_status(answer, settings_, repo, revision);
  return text;
}

namespace {

[[noreturn]] void refuse_access(const Settings& settings, const std::string& repo, bool gated) {
  const bool has_token = read_token(settings).has_value();
  if (gated)
    throw Error(ErrorCode::kUnauthenticated,
                fmt::format("{} is gated: accept its terms at {}/{}{}", repo, settings.endpoint, repo,
                            has_token ? "; the access token in use may not read it yet"
                                      : ", then set HF_TOKEN to an access token"),
                "model");
  throw Error(ErrorCode::kUnauthenticated,
              fmt::format("there is no model {} at {}, or it is private: {}", repo, settings.endpoint,
                          has_token ? "the access token in use may not read it"
                                    : "set HF_TOKEN to an access token that may read it"),
              "model");
}

}  // namespace

void check_status(const Answer& answer, const Settings& settings, const std::string& repo,
                  const std::string& revision) {
  const long status = answer.status;
  if (is_good(status)) return;
  const std::string message = fmt::format("{} answers {}", answer.host, status);
  if (status == 408 || status == 429 || status >= 500 || !answer.from_endpoint)
    throw TransientError(
        message, parse_retry_after(header(answer.headers, "retry-after"), std::chrono::system_clock::now()));
  const std::string_view code = header(answer.endpoint_headers, "x-error-code");
  if (status == 401 || status == 403) refuse_access(settings, repo, code == "GatedRepo");
  if (status == 404 && code == "RevisionNotFound")
    throw Error(ErrorCode::kNotFound, fmt::format("{} has no revision {}", repo, revision), "revision");
  if (status == 404 && code != "EntryNotFound")
    throw Error(ErrorCode::kNotFound, fmt::format("there is no model {} at {}", repo, settings.endpoint),
                "model");
  throw Error(ErrorCode::kUnavailable, message);
}

}  // namespace d3::hub
