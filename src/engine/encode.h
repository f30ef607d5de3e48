// engine/encode.h: how this room sees a tokenizer.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace d3::engine {

/// UTF-8 -> token ids; called from many threads at once. In the program it is text::Tokenizer::encode.
using Encode = std::function<std::vector<int32_t>(std::string_view)>;

}  // namespace d3::engine
