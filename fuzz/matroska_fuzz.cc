// WebM and Matroska files (what the kept corpus holds) are read as videos or refused in one line.
#include "media_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  d3::fuzz::read_any_video(data, size);
  return 0;
}
