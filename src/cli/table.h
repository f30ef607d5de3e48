// cli/table.h: answers for people.
#pragma once

#include <span>
#include <string>

#include "cli/context.h"
#include "decision/request.h"

namespace d3::cli {

/// For each question its id and instructions, then a line for every option: its name, its text, a bar and its
/// probability, the chosen one marked. Bars and colours only on a terminal. What a request holds cannot
/// control the terminal: control characters are shown as spaces.
std::string answer_table(const decision::Request& request, std::span<const decision::Answer> answers,
                         const Output& output);

}  // namespace d3::cli
