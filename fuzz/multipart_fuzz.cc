// A multipart body of POST /v1/systemone: the first line of the input is its content type. It is refused with
// a good error, or its parts lie in it one after the other; what they hold is answered as JSON is.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/multipart.h"
#include "api/systemone.h"
#include "api_checks.h"

namespace {

using namespace d3;

void check_parts(std::string_view content_type, std::string_view body) {
  const char* end = body.data();
  for (const api::Part& part : api::parse_multipart(content_type, body)) {
    fuzz::require(!part.name.empty() && part.content.data() >= end);
    end = part.content.data() + part.content.size();
  }
  fuzz::require(end <= body.data() + body.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(input.find('\n'), input.size());
  const std::string content_type = "multipart/form-data; " + std::string(input.substr(0, line));
  const std::string_view body = input.substr(std::min(line + 1, input.size()));
  const api::ServedModel model{
      .names = {"m"}, .created = 0, .max_model_len = {}, .takes_media = true, .description = {}};
  try {
    check_parts(content_type, body);
    const auto request = api::parse_systemone(body, model, content_type);
    json::parse(api::write_systemone(request, fuzz::answer(request), model,
                                     {.request_id = "r", .created = 0, .input_tokens = 0}));
  } catch (const Error& error) {
    fuzz::check_error(error);
  }
  return 0;
}
