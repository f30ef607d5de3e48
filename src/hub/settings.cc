#include "hub/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

#include "base/ascii.h"
#include "base/error.h"

namespace d3::hub {
namespace {

constexpr size_t kMaxTokenBytes = 4096;

bool is_true(const std::optional<std::string>& value) {
  static constexpr std::array<std::string_view, 4> kTrue = {"1", "on", "yes", "true"};
  return value && std::ranges::any_of(kTrue, [&](auto word) { return equals_ignoring_case(*value, word); });
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// $NAME and ${NAME} replaced by their values; what is not set stays as it is, as Python's expandvars does.
std::string with_variables(const std::string& text, const Environment& environment) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    const bool braced = at + 1 < text.size() && text[at + 1] == '{';
    const size_t begin = at + (braced ? 2 : 1);
    size_t end = begin;
    while (end < text.size() && (braced ? text[end] != '}' : is_name_character(text[end]))) ++end;
    const bool whole = end > begin && (!braced || end < text.size());
    const auto value = whole ? environment(text.substr(begin, end - begin)) : std::nullopt;
    const size_t next = whole ? end + (braced ? 1 : 0) : at + 1;
    out += value ? *value : text.substr(at, next - at);
    at = next;
  }
  return out;
}

std::string trimmed_lines(std::string text) {
  const auto outside = [](char c) { return c == '\r' || c == '\n' || c == ' ' || c == '\t'; };
  while (!text.empty() && outside(text.back())) text.pop_back();
  text.erase(text.begin(), std::ranges::find_if_not(text, outside));
  return text;
}

class Reader {
 public:
  Reader(const Environment& environment, const std::string& home) : environment_(environment), home_(home) {}

  /// The first of the variables that is set and not empty.
  std::optional<std::string> first(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (auto value = environment_(name); value && !value->empty()) return value;
    return std::nullopt;
  }

  std::filesystem::path path(std::initializer_list<const char*> names,
                             const std::filesystem::path& fallback) const {
    const auto value = first(names);
    if (!value) return fallback;
    const bool in_home = *value == "~" || value->starts_with("~/");
    return with_variables(in_home ? home_ + value->substr(1) : *value, environment_);
  }

 private:
  const Environment& environment_;
  const std::string& home_;
};

}  // namespace

std::string without_end_slash(std::string endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

Settings settings_from(const Environment& environment, const std::string& home) {
  const Reader reader(environment, home);
  Settings settings;
  if (const auto endpoint = reader.first({"HF_ENDPOINT"})) settings.endpoint = without_end_slash(*endpoint);
  const auto caches = reader.path({"XDG_CACHE_HOME"}, std::filesystem::path(home) / ".cache");
  const auto hf_home = reader.path({"HF_HOME"}, caches / "huggingface");
  settings.cache = reader.path({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}, hf_home / "hub");
  settings.token_file = reader.path({"HF_TOKEN_PATH"}, hf_home / "token");
  settings.token = reader.first({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  settings.use_token = !is_true(reader.first({"HF_HUB_DISABLE_IMPLICIT_TOKEN"}));
  settings.offline = is_true(reader.first({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}));
  settings.https_proxy = reader.first({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}).value_or("");
  settings.http_proxy = reader.first({"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}).value_or("");
  settings.no_proxy = reader.first({"no_proxy", "NO_PROXY"}).value_or("");
  settings.certificates = reader.first({"SSL_CERT_FILE"}).value_or("");
  if (const auto seconds = reader.first({"HF_HUB_DOWNLOAD_TIMEOUT"})) {
    int value = 0;
    const auto [end, error] = std::from_chars(seconds->data(), seconds->data() + seconds->size(), value);
    if (error == std::errc() && end == seconds->data() + seconds->size() && value > 0)
      settings.stall_timeout = std::chrono::seconds(value);
  }
  return settings;
}

std::optional<std::string> read_token(const Settings& settings) {
  if (!settings.use_token) return std::nullopt;
  std::string token = settings.token.value_or("");
  if (token.empty()) {
    std::ifstream file(settings.token_file, std::ios::binary);
    token.resize(kMaxTokenBytes);
    file.read(token.data(), static_cast<std::streamsize>(token.size()));
    token.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  }
  token = trimmed_lines(token);
  if (token.empty()) return std::nullopt;
  if (!std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; }))
    throw Error(ErrorCode::kInvalidArgument,
                "the access token (HF_TOKEN, or the token file) has characters that no token has",
                "HF_TOKEN");
  return token;
}

}  // namespace d3::hub
