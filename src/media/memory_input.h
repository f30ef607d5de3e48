// media/memory_input.h: bytes in memory as FFmpeg's input.
#pragma once

#include "media/ffmpeg.h"
#include "media/image.h"
#include "media/work_limit.h"

namespace d3::media {

/// Reads fail once the limit is exceeded, which ends whatever the demuxer is doing. Both arguments must
/// outlive the input, and the input whatever uses context().
class MemoryInput {
 public:
  MemoryInput(Bytes bytes, const WorkLimit& limit);
  MemoryInput(const MemoryInput&) = delete;
  MemoryInput& operator=(const MemoryInput&) = delete;

  AVIOContext* context() { return context_.get(); }

 private:
  static int read(void* self, uint8_t* out, int size);
  static int64_t seek(void* self, int64_t offset, int whence);

  Bytes bytes_;
  const WorkLimit& limit_;
  size_t position_ = 0;
  FfmpegPointer<AVIOContext> context_;
};

}  // namespace d3::media
