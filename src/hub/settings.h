// hub/settings.h: where models come from and where they are kept, as Hugging Face's Python client
// (huggingface_hub/constants.py) reads it from the environment.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace d3::hub {

struct Settings {
  std::string endpoint = "https://huggingface.co";  ///< without a slash at its end
  std::filesystem::path cache;                      ///< the directory that holds models--ORG--NAME
  std::optional<std::string> token;                 ///< sent to the endpoint alone
  std::filesystem::path token_file;                 ///< read when there is no token; may be missing
  bool use_token = true;                            ///< false: requests are anonymous
  bool offline = false;                             ///< only what is in the cache
  std::string http_proxy;                           ///< for http URLs, empty: none
  std::string https_proxy;                          ///< for https URLs, empty: none
  std::string no_proxy;                             ///< hosts that are connected to directly
  std::string certificates;                         ///< file of certificate authorities, empty: the system's

  int connections = 8;                       ///< at once
  uint64_t part_bytes = uint64_t{64} << 20;  ///< larger files are fetched in parts of this size
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(10);
  std::chrono::seconds stall_timeout{30};  ///< a transfer as good as standing still is begun anew
  int max_tries = 6;                       ///< of a request in a row that brings nothing
  std::chrono::seconds max_wait = std::chrono::minutes(5);  ///< no longer, whatever retry-after says
};

/// A variable's value; none when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// HF_ENDPOINT; HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME; HF_TOKEN,
/// HUGGING_FACE_HUB_TOKEN, HF_TOKEN_PATH, HF_HUB_DISABLE_IMPLICIT_TOKEN; HF_HUB_OFFLINE,
/// TRANSFORMERS_OFFLINE; HF_HUB_DOWNLOAD_TIMEOUT; HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY (also in lower
/// case); SSL_CERT_FILE. A variable that is set and empty counts as not set. `home` is what ~ stands for.
Settings settings_from(const Environment& environment, const std::string& home);

/// An endpoint as Settings holds it.
std::string without_end_slash(std::string endpoint);

/// The token to send: the one set, else the token file's; none when there is neither. Throws
/// Error(kInvalidArgument) when it has characters that cannot be in a header.
std::optional<std::string> read_token(const Settings& settings);

}  // namespace d3::hub
