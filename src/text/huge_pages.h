// text/huge_pages.h: memory for large tables that are read at random places.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace d3::text {

/// An allocator that asks for pages of 2 MiB where it pays: a table of some megabytes then needs few page
/// faults to fill and few entries of the TLB to read. The kernel may decline, which changes nothing but
/// speed.
template <typename T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  explicit HugePageAllocator(const HugePageAllocator<U>&) {}

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kPage) return static_cast<T*>(::operator new(bytes, std::align_val_t(alignof(T))));
    void* memory = ::operator new(bytes, std::align_val_t(kPage));
    madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, size_t count) noexcept {
    const size_t alignment = count * sizeof(T) < kPage ? alignof(T) : kPage;
    ::operator delete(memory, std::align_val_t(alignment));
  }

  template <typename U>
  bool operator==(const HugePageAllocator<U>&) const {
    return true;
  }

 private:
  static constexpr size_t kPage = size_t{2} << 20;
};

template <typename T>
using LargeTable = std::vector<T, HugePageAllocator<T>>;

}  // namespace d3::text
