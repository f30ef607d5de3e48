// cpu/matmul.h: one-threaded matrix products by oneDNN, their primitives cached by shape.
//
// The executor cuts every product into blocks that fit a core's cache and lets its own thread pool hand them
// out; oneDNN is asked for one thread only, so that one pool does all the work and an epilogue can finish
// each block while it is in cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

namespace d3::cpu {

/// What is multiplied and what comes out. oneDNN has fp32 x fp32 -> fp32, bf16 x bf16 -> fp32 and u8 x s8 ->
/// int32; the others are fp32 x bf16 weights -> fp32 by KernelTable: widened, in fp16, and in int8 with
/// scales of groups. A Linear in kFloat32 is KernelTable's, too (WidenedKernels).
enum class ProductType { kFloat32, kBfloat16, kInt8, kWidened, kFloat16, kGroupedInt8 };

/// Bytes of one element of the right-hand side (weights).
size_t weight_size(ProductType type);

/// C[m, n] (+)= A[m, k] · B[k, n], of a type that oneDNN has. A is row-major with k columns; C is row-major
/// with n columns; B is in the layout that MatmulCache::pack gave it.
struct MatmulShape {
  ProductType type = ProductType::kFloat32;
  int m = 0;
  int k = 0;
  int n = 0;
  bool accumulate = false;  ///< add to C instead of overwriting it

  auto operator<=>(const MatmulShape&) const = default;
};

/// A ready product of one shape. Safe to use from several workers at once, each with its own index.
class Matmul {
 public:
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  /// a: m x k elements; packed_b: as packed; c: m x n fp32 (int32 for kInt8).
  void run(int worker, const void* a, const void* packed_b, void* c) const;

 private:
  friend class MatmulCache;
  struct Impl;
  explicit Matmul(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Every product of an executor. get() may create a primitive and is for the thread that starts loops;
/// workers use what it returned. References stay valid as long as the cache.
class MatmulCache {
 public:
  /// workers: how many threads will call Matmul::run, with indices below it.
  explicit MatmulCache(int workers);
  ~MatmulCache();

  const Matmul& get(const MatmulShape& shape);

  /// Whether this CPU, within what limit_products_to left of it, has products of that type.
  bool supports(ProductType type);

  /// A product that get() has made before; for workers, while no get() runs.
  const Matmul& find(const MatmulShape& shape) const;

  /// The row count that a product of `rows` rows is computed at: a few buckets, so that few primitives exist.
  /// Rows from `rows` on are computed from whatever follows in A, and belong to nobody.
  static int bucket_rows(int rows);

  /// Bytes of a packed right-hand side of k x n elements.
  size_t packed_bytes(ProductType type, int k, int n);

  /// Packs a right-hand side. transposed: `b` is [n, k] row-major with row stride ldb (a weight as
  /// checkpoints store it), else [k, n]. Workers may pack at the same time.
  void pack(ProductType type, int k, int n, bool transposed, int64_t ldb, const void* b, void* packed);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Tells oneDNN, for the calling thread, to stay on that thread. Called once by every thread that uses
/// products.
void use_one_thread_for_products();

/// Forbids oneDNN instructions beyond `target` ("avx512", "avx2", "baseline"), for the whole process and only
/// before its first product; returns false when it is too late.
bool limit_products_to(const char* target);

}  // namespace d3::cpu
