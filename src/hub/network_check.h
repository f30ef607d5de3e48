// hub/network_check.h: whether the hub can be reached, knows the token, and how fast it sends. Asked by
// nobody but who wants to know; nothing is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "hub/model_name.h"
#include "hub/settings.h"

namespace d3::hub {

struct TokenCheck {
  enum class State {
    kNone,     ///< there is no token
    kKnown,    ///< the hub says whose it is
    kRefused,  ///< the hub takes it for nobody's
    kUnasked,  ///< this hub does not say
  };
  State state = State::kNone;
  std::string user;                        ///< with kKnown; the hub's word, to be shown with care
  std::chrono::duration<double> taken{0};  ///< until the hub answered
};

/// Asks GET ENDPOINT/api/whoami-v2 (huggingface_hub/hf_api.py), once. Throws Error(kUnavailable) when the hub
/// gives no answer or a failure of its own (5xx, 429), and what read_token() throws.
TokenCheck check_token(const Settings& settings);

struct RateCheck {
  std::string host;                        ///< that sent the bytes
  uint64_t bytes = 0;                      ///< that came
  std::chrono::duration<double> taken{0};  ///< from the first of them to the last
  uint64_t weight_bytes = 0;               ///< of all the model's weights
};

/// Fetches the beginning of a model's largest file over one connection, as long as `most` and no more than
/// `most_bytes`, and drops it. Throws what pull() throws.
RateCheck check_rate(const ModelName& name, const Settings& settings, std::chrono::milliseconds most,
                     uint64_t most_bytes);

}  // namespace d3::hub
