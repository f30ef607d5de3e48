// api/decisions.h: the bodies of POST /v1/decisions (contract, section 5), the shape of OpenAI's Decisions
// API.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "decision/request.h"

namespace d3::api {

/// What an answer repeats of its question and decision::Question has no place for.
struct DecisionsQuestion {
  std::optional<std::string> name;
  std::vector<bool> value_is_bool;  ///< choice: option i was given as a JSON boolean
  std::vector<std::string> labels;  ///< score: the levels' labels
};

/// A validated request. Question i has the id "i" (its place in the list), so that an error of the engine
/// names `questions.i` as an error found here does.
struct DecisionsRequest {
  decision::Request request;
  std::vector<DecisionsQuestion> questions;  ///< as many as request.questions, same order
};

/// The validated request of a body; throws as parse_systemone does. `input`'s texts become the state, its
/// images the request's images; predicate becomes noul, choice and score keep their names.
DecisionsRequest parse_decisions(std::string_view body, const ServedModel& model);

/// The body of the 200 answer. answers[i] belongs to question i.
std::string write_decisions(const DecisionsRequest& request, std::span<const decision::Answer> answers,
                            const ServedModel& model, const ResponseInfo& info);

}  // namespace d3::api
