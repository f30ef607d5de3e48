#include "media/memory_input.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace d3::media {
namespace {

constexpr int kBufferBytes = 32 * 1024;

}  // namespace

MemoryInput::MemoryInput(Bytes bytes, const WorkLimit& limit) : bytes_(bytes), limit_(limit) {
  auto* buffer = static_cast<uint8_t*>(av_malloc(kBufferBytes));
  if (buffer == nullptr) throw std::bad_alloc();
  context_.reset(avio_alloc_context(buffer, kBufferBytes, /*write_flag=*/0, this, read, nullptr, seek));
  if (context_ != nullptr) return;
  av_free(buffer);
  throw std::bad_alloc();
}

int MemoryInput::read(void* self, uint8_t* out, int size) {
  auto& input = *static_cast<MemoryInput*>(self);
  if (input.limit_.exceeded()) return AVERROR_EXIT;
  const size_t count = std::min(static_cast<size_t>(size), input.bytes_.size() - input.position_);
  if (count == 0) return AVERROR_EOF;
  std::memcpy(out, input.bytes_.data() + input.position_, count);
  input.position_ += count;
  return static_cast<int>(count);
}

int64_t MemoryInput::seek(void* self, int64_t offset, int whence) {
  auto& input = *static_cast<MemoryInput*>(self);
  const auto size = static_cast<int64_t>(input.bytes_.size());
  if (whence == AVSEEK_SIZE) return size;
  int64_t from = 0;
  switch (whence & ~AVSEEK_FORCE) {
    case SEEK_SET:
      break;
    case SEEK_CUR:
      from = static_cast<int64_t>(input.position_);
      break;
    case SEEK_END:
      from = size;
      break;
    default:
      return AVERROR(EINVAL);
  }
  if (offset < -from || offset > size - from) return AVERROR(EINVAL);
  input.position_ = static_cast<size_t>(from + offset);
  return from + offset;
}

}  // namespace d3::media
