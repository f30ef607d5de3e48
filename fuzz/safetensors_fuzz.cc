// Bytes are no safetensors file, or their tensors fill what follows the header, each as its dtype and shape
// say.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "checkpoint/safetensors.h"
#include "checkpoint_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace d3;
  try {
    const auto entries = checkpoint::read_safetensors_header(std::as_bytes(std::span(data, size)), "f");
    uint64_t at = entries.empty() ? size : entries.front().begin;
    for (const checkpoint::TensorEntry& entry : entries) {
      if (entry.begin != at || entry.end < entry.begin || entry.end > size) std::abort();
      uint64_t elements = 1;
      for (const int64_t length : entry.shape) elements *= static_cast<uint64_t>(length);
      if (elements > entry.end - entry.begin) std::abort();
      at = entry.end;
    }
    if (at != size) std::abort();
  } catch (const Error& error) {
    fuzz::check_refusal(error);
  }
  return 0;
}
