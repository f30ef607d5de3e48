#include "engine/prepare.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "decision/prompt.h"
#include "decision/refuse.h"
#include "decision/validation.h"

namespace d3::engine {
namespace {

[[noreturn]] void refuse_media(const decision::Request& request) {
  const std::string field = request.images.empty() ? "videos" : "images";
  throw Error(ErrorCode::kUnsupported,
              fmt::format("{}: this checkpoint has no vision tower and takes no {}", field, field), field);
}

}  // namespace

int64_t PreparedRequest::total_tokens() const {
  int64_t total = 0;
  for (size_t i = 0; i < tails.size(); ++i) total += question_tokens(i);
  return total;
}

Preparer::Preparer(Encode encode, std::vector<std::string> codes, std::optional<int64_t> max_length,
                   std::optional<MediaParts> media)
    : encode_(std::move(encode)), codes_(std::move(codes)), max_length_(max_length) {
  if (!media) return;
  media_tokens_ = media->tokens;
  media_loader_ = std::make_unique<const MediaLoader>(std::move(media->options), media->cache);
}

PreparedRequest Preparer::prepare(std::shared_ptr<const decision::Request> request) const {
  const bool with_media = request->has_media();
  if (with_media && media_loader_ == nullptr) refuse_media(*request);
  PreparedRequest prepared;
  prepared.head = encode_(decision::prompt_head(*request));
  prepared.tails.reserve(request->questions.size());
  for (const decision::Question& question : request->questions)
    prepared.tails.push_back(encode_(decision::prompt_tail(question, codes_)));
  prepared.request = std::move(request);
  check_lengths(prepared);
  if (with_media) add_media(prepared);
  return prepared;
}

void Preparer::add_media(PreparedRequest& prepared) const {
  const auto media = media_loader_->load(*prepared.request);
  ExpandedHead head = expand_media(prepared.head, media, media_tokens_, encode_);
  prepared.head = std::move(head.ids);
  prepared.media = std::move(head.places);
  check_lengths(prepared);
}

std::string Preparer::prompt_text(const decision::Request& request, size_t question) const {
  return decision::prompt_head(request) + decision::prompt_tail(request.questions.at(question), codes_);
}

void Preparer::check_lengths(const PreparedRequest& prepared) const {
  for (size_t i = 0; i < prepared.tails.size(); ++i) {
    const int64_t tokens = prepared.question_tokens(i);
    if (!max_length_ || tokens <= *max_length_) continue;
    decision::refuse(decision::question_path(prepared.request->questions[i].id),
                     fmt::format("the prompt has {} tokens, the limit is {}", tokens, *max_length_));
  }
}

}  // namespace d3::engine
