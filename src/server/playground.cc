#include "server/playground.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/ascii.h"
#include "base/error.h"
#include "checkpoint/sha256.h"
#include "server/content_coding.h"
#include "server/web_files.h"

namespace d3::server {
namespace {

constexpr std::string_view kFolder = "/playground/";
constexpr std::string_view kPage = "index.html";
constexpr std::string_view kStyle = "style.css";
constexpr std::string_view kStyleLink = "<link rel=\"stylesheet\" href=\"playground/style.css\">";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
}};

// Previews are data and blob URLs. Trusted types make the browser refuse any text that a script would have
// read as HTML, so that no state, name or error can become part of the page.
constexpr std::string_view kContentPolicy =
    "default-src 'none'; script-src 'self'; style-src 'sha256-{}'; img-src 'self' data: blob:; "
    "media-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string_view content_type_of(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kTypes, [&](const auto& type) { return name.ends_with(type.first); });
  if (found == kTypes.end())
    throw Error(ErrorCode::kInternal, fmt::format("web/{} is of no known type", name));
  return found->second;
}

checkpoint::Sha256::Digest digest_of(std::string_view bytes) {
  return checkpoint::Sha256::of(std::as_bytes(std::span(bytes)));
}

std::string etag_of(std::string_view bytes) {
  return fmt::format("\"{}\"", checkpoint::to_hex(digest_of(bytes)).substr(0, 20));
}

/// The content policy that allows this one style in the page (a hash source, Content Security Policy
/// 3, 2.3.1).
std::string policy_for(std::string_view style) {
  const auto digest = digest_of(style);
  std::array<unsigned char, 4 * ((sizeof digest + 2) / 3) + 1> base64{};
  EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(digest.size()));
  return fmt::format(kContentPolicy, reinterpret_cast<const char*>(base64.data()));
}

std::string_view web_file(std::string_view name) {
  const auto* found = std::ranges::find(kWebFiles, name, [](const auto& file) { return file.first; });
  if (found == kWebFiles.end()) throw Error(ErrorCode::kInternal, fmt::format("web/{} is missing", name));
  return found->second;
}

/// The page with its style inside: a browser need not ask for it before it paints.
std::string styled_page() {
  std::string page(web_file(kPage));
  const size_t link = page.find(kStyleLink);
  if (link == std::string::npos) throw Error(ErrorCode::kInternal, "web/index.html has no link to its style");
  return page.replace(link, kStyleLink.size(), fmt::format("<style>{}</style>", web_file(kStyle)));
}

/// Calls `use` with each item of a list between commas, until one returns true.
template <class Use>
bool any_item(std::string_view list, Use use) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (use(trimmed(list.substr(0, comma)))) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

/// Whether the parameters of an item are a weight of zero: `q=0`, `q=0.000`.
bool is_refused(std::string_view parameters) {
  parameters = trimmed(parameters);
  if (!equals_ignoring_case(parameters.substr(0, 2), "q=")) return false;
  const std::string_view weight = trimmed(parameters.substr(2));
  return !weight.empty() && weight.find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool is_playground_path(std::string_view path) { return path == "/" || path.starts_with(kFolder); }

bool takes_gzip(std::string_view accept_encoding) {
  return any_item(accept_encoding, [](std::string_view item) {
    const size_t end = item.find(';');
    if (!equals_ignoring_case(trimmed(item.substr(0, end)), "gzip")) return false;
    return end == std::string_view::npos || !is_refused(item.substr(end + 1));
  });
}

bool names_etag(std::string_view if_none_match, std::string_view etag) {
  return any_item(if_none_match, [&](std::string_view item) {
    if (item == "*") return true;
    if (item.starts_with("W/")) item.remove_prefix(2);
    return item == etag;
  });
}

Playground::Playground() : content_policy_(policy_for(web_file(kStyle))) {
  add("/", kPage, styled_page());
  for (const auto& [name, text] : kWebFiles)
    if (name != kPage && name != kStyle) add(fmt::format("{}{}", kFolder, name), name, std::string(text));
}

void Playground::add(std::string path, std::string_view name, std::string text) {
  std::string compressed = gzip(text);
  std::string gzip_tag = etag_of(compressed), plain_tag = etag_of(text);
  files_.push_back({.path = std::move(path),
                    .content_type = content_type_of(name),
                    .plain = {.body = std::move(text), .etag = std::move(plain_tag)},
                    .gzip = {.body = std::move(compressed), .etag = std::move(gzip_tag)}});
}

Reply Playground::serve(const RequestHead& head) const {
  const auto file = std::ranges::find(files_, head.path, &File::path);
  if (file == files_.end()) throw Error(ErrorCode::kNotFound, "there is nothing at this path");
  const bool compressed =
      takes_gzip(head.accept_encoding) && file->gzip.body.size() < file->plain.body.size();
  const Form& form = compressed ? file->gzip : file->plain;
  Reply reply{.body = {}, .content_type = std::string(file->content_type)};
  reply.headers = {{"etag", form.etag},
                   {"cache-control", "no-cache"},
                   {"vary", "accept-encoding"},
                   {"content-security-policy", content_policy_},
                   {"x-content-type-options", "nosniff"},
                   {"referrer-policy", "no-referrer"},
                   {"cross-origin-opener-policy", "same-origin"}};
  if (names_etag(head.if_none_match, form.etag)) {
    reply.status = 304;
    return reply;
  }
  if (compressed) reply.headers.emplace_back("content-encoding", "gzip");
  reply.body = form.body;
  return reply;
}

std::vector<std::string_view> Playground::paths() const {
  std::vector<std::string_view> paths;
  for (const File& file : files_) paths.emplace_back(file.path);
  return paths;
}

}  // namespace d3::server
