// server/body_budget.h: a bound on the memory that all request bodies take together.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace d3::server {

/// Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(size_t bytes) : free_(std::make_shared<Free>(static_cast<std::ptrdiff_t>(bytes))) {}

  /// Bytes taken from the budget, given back on destruction. May outlive the budget.
  class Lease {
   public:
    explicit Lease(BodyBudget& budget) : free_(budget.free_) {}
    Lease(Lease&& other) noexcept : free_(other.free_), bytes_(std::exchange(other.bytes_, 0)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(free_, other.free_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Lease() { *free_ += bytes_; }

    size_t bytes() const { return static_cast<size_t>(bytes_); }
    /// An empty lease of the same budget.
    Lease sibling() const { return Lease(free_); }

    /// Takes more; false, and nothing taken, when the budget has not that much left.
    bool grow(size_t bytes) {
      const auto wanted = static_cast<std::ptrdiff_t>(bytes);
      if ((*free_ -= wanted) < 0) {
        *free_ += wanted;
        return false;
      }
      bytes_ += wanted;
      return true;
    }

   private:
    explicit Lease(std::shared_ptr<std::atomic<std::ptrdiff_t>> free) : free_(std::move(free)) {}

    std::shared_ptr<std::atomic<std::ptrdiff_t>> free_;
    std::ptrdiff_t bytes_ = 0;
  };

 private:
  using Free = std::atomic<std::ptrdiff_t>;
  std::shared_ptr<Free> free_;
};

}  // namespace d3::server
