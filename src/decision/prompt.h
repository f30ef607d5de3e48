// decision/prompt.h: the fixed prompt of `prompt: d3` (thinking off), cut where the questions of a request
// part.
#pragma once

#include <span>
#include <string>

#include "decision/request.h"

namespace d3::decision {

/// The part every question of a request shares: system turn, media placeholders, "State:", the state and the
/// empty line after it. Tokenizing head and tail apart gives the same ids as tokenizing them together: the
/// head ends in newlines and the tail starts with a letter, and no pre-token spans that.
std::string prompt_head(const Request& request);

/// The question's own part: from "Question:" to the closed, empty think block. codes[i] names option i;
/// codes.size() >= question.options.size().
std::string prompt_tail(const Question& question, std::span<const std::string> codes);

}  // namespace d3::decision
