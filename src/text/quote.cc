#include "text/quote.h"

#include "json/write.h"
#include "text/code_points.h"

namespace d3::text {

std::string in_quotes(std::string_view text) {
  constexpr size_t kLimit = 200;
  std::string quoted;
  json::append_untrusted_string(quoted, text);
  if (quoted.size() <= kLimit) return quoted;
  quoted.resize(previous_code_point(quoted, kLimit));
  return quoted + "...";
}

}  // namespace d3::text
