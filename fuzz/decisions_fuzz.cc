// A body of POST /v1/decisions is refused with a good error, or answered with valid JSON.
#include <cstdint>
#include <string_view>

#include "api/decisions.h"
#include "api_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace d3;
  const api::ServedModel model{
      .names = {"m"}, .created = 0, .max_model_len = {}, .takes_media = true, .description = {}};
  try {
    const auto request =
        api::parse_decisions(std::string_view(reinterpret_cast<const char*>(data), size), model);
    json::parse(api::write_decisions(request, fuzz::answer(request.request), model,
                                     {.request_id = "r", .created = 0, .input_tokens = 0}));
  } catch (const Error& error) {
    fuzz::check_error(error);
  }
  return 0;
}
