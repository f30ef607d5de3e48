// hub/model_name.h: how models on the hub are called.
#pragma once

#include <string>
#include <string_view>

namespace d3::hub {

/// A model on the hub at a revision.
struct ModelName {
  std::string repo;      ///< "org/name", or "name" for the few that have no owner
  std::string revision;  ///< a branch, a tag, a commit or the beginning of one
  bool operator==(const ModelName&) const = default;
};

/// "org/name@revision", "org/name", or one of the published names alone (see published_repo()). `revision`
/// counts when the text has none; empty means "main". Throws Error(kInvalidArgument) for what can be no name
/// by the hub's rules (huggingface_hub/utils/_validators.py): letters, digits, '-', '_' and '.', no "--" and
/// "..", not ending in ".git"; and for a revision that could leave its directory in the cache.
ModelName parse_model_name(std::string_view text, std::string_view revision = {});

/// The same for a decision model, which always has an owner. Throws Error(kNotFound) for a name without one.
ModelName parse_owned_model_name(std::string_view text, std::string_view revision = {});

/// Whether a text can only be meant as a path, not as a name: "/x", "./x", "~/x", "x/", "a/b/c" or nothing.
bool looks_like_path(std::string_view text);

/// "d3-nano" -> "vllm-sr/d3-nano" for each size of the published family; empty for other names.
std::string published_repo(std::string_view name);

/// "org/name" or "org/name@revision" when the revision is not "main".
std::string to_text(const ModelName& name);

/// Whether a text is a whole commit: 40 hexadecimal digits.
bool is_commit(std::string_view revision);

}  // namespace d3::hub
