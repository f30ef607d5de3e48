#include "engine/prepare.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "decision/prompt.h"
#include "decision/validation.h"

namespace d3::engine {
namespace {

void refuse_media(const decision::Request& request) {
  if (!request.images.empty())
    throw Error(ErrorCode::kInvalidArgument, "images: this server reads no images", "images");
  if (!request.videos.empty())
    throw Error(ErrorCode::kInvalidArgument, "videos: this server reads no videos", "videos");
}

}  // namespace

int64_t PreparedRequest::total_tokens() const {
  int64_t total = 0;
  for (size_t i = 0; i < tails.size(); ++i) total += question_tokens(i);
  return total;
}

Preparer::Preparer(Encode encode, std::vector<std::string> codes, std::optional<int64_t> max_length)
    : encode_(std::move(encode)), codes_(std::move(codes)), max_length_(max_length) {}

PreparedRequest Preparer::prepare(std::shared_ptr<const decision::Request> request) const {
  refuse_media(*request);
  PreparedRequest prepared;
  prepared.head = encode_(decision::prompt_head(*request));
  prepared.tails.reserve(request->questions.size());
  for (const decision::Question& question : request->questions) {
    std::vector<int32_t> tail = encode_(decision::prompt_tail(question, codes_));
    check_length(question, prepared.head.size() + tail.size());
    prepared.tails.push_back(std::move(tail));
  }
  prepared.request = std::move(request);
  return prepared;
}

std::string Preparer::prompt_text(const decision::Request& request, size_t question) const {
  return decision::prompt_head(request) + decision::prompt_tail(request.questions.at(question), codes_);
}

void Preparer::check_length(const decision::Question& question, size_t tokens) const {
  if (!max_length_ || tokens <= static_cast<size_t>(*max_length_)) return;
  const std::string field = decision::question_path(question.id);
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{}: the prompt has {} tokens, the limit is {}", field, tokens, *max_length_),
              field);
}

}  // namespace d3::engine
