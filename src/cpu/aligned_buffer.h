// cpu/aligned_buffer.h: memory for weights and activations: aligned, on huge pages where that helps, never
// shrinking.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace d3::cpu {

/// Frees what was allocated with that alignment.
struct AlignedFree {
  size_t alignment = 1;
  void operator()(std::byte* memory) const noexcept;
};

/// `bytes` of memory aligned to a cache line (64 bytes), or to 2 MiB with transparent huge pages asked for
/// when it is that large. The content is not initialised.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes);

  std::byte* data() const noexcept { return data_.get(); }
  size_t size() const noexcept { return bytes_; }

 private:
  std::unique_ptr<std::byte[], AlignedFree> data_;
  size_t bytes_ = 0;
};

/// A workspace of T that grows to the largest size ever asked for; growing loses the content. New memory is
/// zeroed, so the padding rows that products may read are numbers.
template <typename T>
class Workspace {
 public:
  /// At least `count` elements.
  T* reserve(size_t count) {
    if (count * sizeof(T) > buffer_.size()) {
      buffer_ = AlignedBuffer(count * sizeof(T));
      std::uninitialized_value_construct_n(data(), count);
    }
    return data();
  }
  T* data() const noexcept { return reinterpret_cast<T*>(buffer_.data()); }
  size_t bytes() const noexcept { return buffer_.size(); }

 private:
  AlignedBuffer buffer_;
};

}  // namespace d3::cpu
