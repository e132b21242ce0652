// SPDX-License-Identifier: Apache-2.0
//
// The interface between a program and shim.h, in plain C.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Memory that a kernel may touch. Whatever lies in no region is a fault.
struct pst_shim_region {
  const char *name;
  const void *begin;
  size_t bytes;
  size_t around; ///< bytes before and behind that may be read, and mean nothing
  bool writable; ///< else it is read only
  bool written;  ///< holds values before the launch; else reads before a write are faults
  bool launched; ///< records or states of a launch, no tensor
};

/// Accesses to regions by all threads. A warp's accesses by one instruction count the 32-byte
/// sectors that they touch once; `fewest_*` are the distinct sectors of each block.
struct pst_shim_counts {
  uint64_t loads, stores, load_bytes, store_bytes;
  uint64_t wide_bytes;     ///< of tensors, in accesses of 16
  uint64_t launched_bytes; ///< of records and states, which every thread reads
  uint64_t load_sectors, store_sectors, fewest_load_sectors, fewest_store_sectors;
  uint64_t fewest_launched_sectors; ///< of the fewest loads', those of records and states
  uint64_t shared_accesses;
};

struct pst_shim_launch {
  void (*kernel)(const void *samples, struct pst_sample_status *status);
  const void *samples; ///< records of the kernel's own (runtime/abi/kernel.h)
  struct pst_sample_status *status;
  unsigned blocks, count, threads; ///< blocks of so many threads, for each of `count` samples
  int order; ///< of blocks and threads: 0 ascending, 1 descending, 2 random by `seed`
  uint64_t seed;
  size_t shared_bytes; ///< of dynamic shared memory
  unsigned together;   ///< blocks that have begun and not ended, at most; 0: all
  const pst_shim_region *regions;
  size_t region_count;
  pst_shim_counts *counts; ///< added to; null: nobody asks
};

/// Exported by the text's library: the first fault of a thread, with the address of the
/// instruction in the library, or null.
struct pst_shim_fault {
  char what[256];
  uint64_t at; ///< offset into the library's file; 0: none
};
typedef const pst_shim_fault *(*pst_shim_run_t)(const pst_shim_launch *launch);
