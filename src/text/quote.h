// text/quote.h: strings of files in error messages.
#pragma once

#include <string>
#include <string_view>

namespace d3::text {

/// A string in quotes, escaped as JSON and cut at about 200 bytes: messages stay one line of valid UTF-8.
std::string in_quotes(std::string_view text);

}  // namespace d3::text
