// cpu/machine.h: what every part of an executor shares: threads, products, kernels and their scratch memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "cpu/aligned_buffer.h"
#include "cpu/kernels/kernel_table.h"
#include "cpu/matmul.h"
#include "cpu/part_clock.h"

namespace d3::cpu {

/// Scratch of one worker; parts of the executor use it one after the other, never at once.
struct WorkerScratch {
  Workspace<float> block;      ///< a product's block, or attention's scores
  Workspace<float> values;     ///< further fp32 scratch
  Workspace<std::byte> bytes;  ///< further scratch of any type
};

/// Lives as long as the executor, which alone uses it; one thread calls, the pool's workers help.
struct Machine {
  Machine(const KernelTable& kernel_table, int threads)
      : kernels(kernel_table),
        pool({.threads = threads, .pin = false, .on_start = [](int) { use_one_thread_for_products(); }}),
        products(pool.size()),
        scratch(static_cast<size_t>(pool.size())),
        part_clock(pool.size()) {}

  const KernelTable& kernels;
  ThreadPool pool;
  MatmulCache products;
  std::vector<WorkerScratch> scratch;  ///< by worker
  Workspace<uint8_t> quantized_rows;   ///< the int8 input of the product that runs
  Workspace<float> row_scales;         ///< its row scales
  Workspace<uint32_t> tiles;           ///< the input of our own kernels' product that runs
  PartClock part_clock;                ///< of the text model
};

}  // namespace d3::cpu
