#include "cpu/aligned_buffer.h"

#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace d3::cpu {
namespace {
constexpr size_t kCacheLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;
}  // namespace

void AlignedFree::operator()(std::byte* memory) const noexcept {
  ::operator delete[](memory, std::align_val_t(alignment));
}

AlignedBuffer::AlignedBuffer(size_t bytes) : bytes_(bytes) {
  const size_t alignment = bytes >= kHugePage ? kHugePage : kCacheLine;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  data_ = {static_cast<std::byte*>(::operator new[](rounded, std::align_val_t(alignment))),
           AlignedFree{alignment}};
  if (alignment == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
}

}  // namespace d3::cpu
