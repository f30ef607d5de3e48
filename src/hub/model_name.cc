#include "hub/model_name.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "checkpoint/file.h"
#include "checkpoint/messages.h"

namespace d3::hub {
namespace {

constexpr size_t kMaxPartLength = 96;
constexpr size_t kMaxRevisionLength = 255;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name_part(std::string_view part) {
  const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; };
  // A part begins and ends with what a regular expression calls a word character.
  const auto is_word = [](char c) { return is_letter_or_digit(c) || c == '_'; };
  return !part.empty() && part.size() <= kMaxPartLength && std::ranges::all_of(part, allowed) &&
         is_word(part.front()) && is_word(part.back());
}

bool is_repo(std::string_view repo) {
  if (repo.find("--") != std::string_view::npos || repo.find("..") != std::string_view::npos) return false;
  if (repo.ends_with(".git")) return false;
  const size_t slash = repo.find('/');
  if (slash == std::string_view::npos) return is_name_part(repo);
  return is_name_part(repo.substr(0, slash)) && is_name_part(repo.substr(slash + 1));
}

/// Names a branch, tag or commit may have here: git's own rules are looser.
bool is_revision(std::string_view revision) {
  const auto allowed = [](char c) {
    return is_letter_or_digit(c) || std::string_view("-_./+").find(c) != std::string_view::npos;
  };
  return revision.size() <= kMaxRevisionLength && std::ranges::all_of(revision, allowed) &&
         checkpoint::stays_inside(revision);
}

}  // namespace

ModelName parse_model_name(std::string_view text, std::string_view revision) {
  const size_t at = text.find('@');
  ModelName name{.repo = std::string(text.substr(0, at)),
                 .revision = std::string(at == std::string_view::npos ? revision : text.substr(at + 1))};
  if (name.revision.empty() && at == std::string_view::npos) name.revision = "main";
  if (!is_repo(name.repo))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} cannot be the name of a model: expected ORG/NAME or ORG/NAME@REVISION",
                            checkpoint::in_quotes(name.repo)),
                "model");
  if (!is_revision(name.revision))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} cannot be a revision of {}", checkpoint::in_quotes(name.revision), name.repo),
                "revision");
  if (std::string repo = published_repo(name.repo); !repo.empty()) name.repo = std::move(repo);
  return name;
}

ModelName parse_owned_model_name(std::string_view text, std::string_view revision) {
  ModelName name = parse_model_name(text, revision);
  // The hub has a few models without an owner; none is a decision model.
  if (name.repo.find('/') == std::string::npos)
    throw Error(ErrorCode::kNotFound,
                fmt::format("there is no directory {0}, and {0} is no model: expected ORG/NAME", text),
                "model");
  return name;
}

bool looks_like_path(std::string_view text) {
  return text.empty() || text.starts_with('.') || text.starts_with('/') || text.starts_with('~') ||
         text.ends_with('/') || std::ranges::count(text.substr(0, text.find('@')), '/') > 1;
}

std::string published_repo(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kPublished = {"d3",      "d3-flash", "d3-mini",
                                                                 "d3-nano", "d3-lite",  "d3-edge"};
  if (std::ranges::find(kPublished, name) == kPublished.end()) return {};
  return "vllm-sr/" + std::string(name);
}

std::string to_text(const ModelName& name) {
  return name.revision == "main" ? name.repo : name.repo + '@' + name.revision;
}

bool is_commit(std::string_view revision) {
  return revision.size() == 40 && std::ranges::all_of(revision, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
         });
}

}  // namespace d3::hub
