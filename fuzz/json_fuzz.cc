// What parse takes, render writes as JSON that parse takes again and that renders to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "json/parse.h"
#include "json/render.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace d3;
  json::Value value;
  try {
    value = json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error&) {
    return 0;
  }
  const std::string rendered = json::render(value);
  if (json::render(json::parse(rendered)) != rendered) std::abort();
  const std::string sorted = json::render_sorted(value);
  if (json::render_sorted(json::parse(sorted)) != sorted) std::abort();
  if (json::render_sorted(json::parse(rendered)) != sorted) std::abort();
  return 0;
}
