// hub/urls.h: the hub's addresses (huggingface_hub/constants.py and hf_api.py).
#pragma once

#include <string>
#include <string_view>

#include "hub/model_name.h"
#include "hub/settings.h"

namespace d3::hub {

/// What there is of a model at a revision: the text that parse_listing() reads.
std::string listing_url(const Settings& settings, const ModelName& name);

/// A file at a commit.
std::string file_url(const Settings& settings, const ModelName& name, std::string_view commit,
                     std::string_view path);

/// Whose the token is.
std::string whoami_url(const Settings& settings);

}  // namespace d3::hub
