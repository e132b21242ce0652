// shim.h - CUDA's words on a CPU, to run printed kernels without a GPU.
//
// Stands in front of penstock.cuh. A block's threads are fibers of one thread:
// a barrier is a switch. Blocks, and threads between two barriers, run in
// ascending, descending or random order, so that what depends on an order shows.
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __launch_bounds__(threads)

struct pst_dim3 {
  unsigned x, y, z;
};
static pst_dim3 threadIdx, blockIdx, blockDim, gridDim;

enum pst_wait { PST_READY, PST_AT_BLOCK, PST_AT_WARP, PST_DONE };
struct pst_fiber {
  ucontext_t context;
  unsigned char *stack;
  pst_wait wait;
  unsigned phase;             // counts the warp's exchanges
  unsigned long long sent[2]; // by parity: a lane is never two exchanges ahead
};
static pst_fiber *pst_fibers;
static ucontext_t pst_scheduler;

static void pst_pause(pst_wait wait) {
  const unsigned me = threadIdx.x;
  pst_fibers[me].wait = wait;
  swapcontext(&pst_fibers[me].context, &pst_scheduler);
}
static inline void __syncthreads() { pst_pause(PST_AT_BLOCK); }

template <typename T> static T __shfl_down_sync(unsigned, T value, unsigned distance) {
  const unsigned me = threadIdx.x, lane = me % 32;
  const unsigned parity = pst_fibers[me].phase++ % 2;
  memcpy(&pst_fibers[me].sent[parity], &value, sizeof value);
  pst_pause(PST_AT_WARP);
  T result = value;
  if (lane + distance < 32)
    memcpy(&result, &pst_fibers[me + distance].sent[parity], sizeof result);
  return result;
}
// Fibers switch at waits only.
template <typename T> static inline T atomicAdd(T *place, T value) {
  const T before = *place;
  *place += value;
  return before;
}
template <typename T> static inline T atomicMin(T *place, T value) {
  const T before = *place;
  *place = value < before ? value : before;
  return before;
}
template <typename T> static inline T atomicCAS(T *place, T expected, T value) {
  const T before = *place;
  *place = before == expected ? value : before;
  return before;
}

struct pst_kernel_args;
typedef void (*pst_shim_kernel)(pst_kernel_args *samples, int *status);
static struct {
  pst_shim_kernel kernel;
  pst_kernel_args *samples;
  int *status;
} pst_launched;

static void pst_enter() {
  const unsigned me = threadIdx.x;
  pst_launched.kernel(pst_launched.samples, pst_launched.status);
  pst_fibers[me].wait = PST_DONE;
  setcontext(&pst_scheduler);
}

static void pst_order(unsigned *numbers, unsigned count, int order, unsigned long long *seed) {
  for (unsigned i = 0; i < count; ++i)
    numbers[i] = order == 1 ? count - 1 - i : i;
  for (unsigned i = count; order == 2 && i > 1; --i) {
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    const unsigned other = (unsigned)(*seed >> 33) % i, kept = numbers[i - 1];
    numbers[i - 1] = numbers[other];
    numbers[other] = kept;
  }
}

/// Whether the fibers `first` ..< `end` all wait as `wait` says or are done;
/// those that wait are then ready.
static bool pst_release(unsigned first, unsigned end, pst_wait wait) {
  bool any = false;
  for (unsigned i = first; i < end; ++i) {
    if (pst_fibers[i].wait != wait && pst_fibers[i].wait != PST_DONE)
      return false;
    any |= pst_fibers[i].wait == wait;
  }
  for (unsigned i = first; i < end && any; ++i)
    if (pst_fibers[i].wait == wait)
      pst_fibers[i].wait = PST_READY;
  return any;
}

/// Runs a block. Nothing of a kernel that waits for what never comes: false.
static bool pst_block(int order, unsigned long long *seed, unsigned *numbers) {
  const unsigned stackSize = 64 * 1024;
  for (unsigned i = 0; i < blockDim.x; ++i) {
    pst_fiber &fiber = pst_fibers[i];
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = stackSize;
    fiber.context.uc_link = nullptr;
    fiber.wait = PST_READY;
    fiber.phase = 0;
    makecontext(&fiber.context, pst_enter, 0);
  }
  for (;;) {
    bool ran = false, open = false;
    pst_order(numbers, blockDim.x, order, seed);
    for (unsigned i = 0; i < blockDim.x; ++i) {
      pst_fiber &fiber = pst_fibers[numbers[i]];
      if (fiber.wait != PST_READY)
        continue;
      ran = true;
      threadIdx.x = numbers[i];
      swapcontext(&pst_scheduler, &fiber.context);
    }
    for (unsigned first = 0; first < blockDim.x; first += 32)
      ran |= pst_release(first, first + 32, PST_AT_WARP);
    ran |= pst_release(0, blockDim.x, PST_AT_BLOCK);
    for (unsigned i = 0; i < blockDim.x; ++i)
      open |= pst_fibers[i].wait != PST_DONE;
    if (!open)
      return true;
    if (!ran)
      return false;
  }
}

/// Launches a kernel of this file: `blocks` blocks of `threads` threads for each
/// of `count` samples. `order`: 0 ascending, 1 descending, 2 random by `seed`.
/// False if threads wait at different barriers.
extern "C" __attribute__((visibility("default"))) bool
pst_shim_launch(pst_shim_kernel kernel, pst_kernel_args *samples, int *status, unsigned blocks,
                unsigned count, unsigned threads, int order, unsigned long long seed) {
  pst_launched = {kernel, samples, status};
  gridDim = {blocks, count, 1};
  blockDim = {threads, 1, 1};
  pst_fibers = (pst_fiber *)calloc(threads, sizeof(pst_fiber));
  unsigned char *stacks = (unsigned char *)malloc((size_t)threads * 64 * 1024);
  unsigned *numbers = (unsigned *)malloc((threads + blocks * count) * sizeof(unsigned));
  for (unsigned i = 0; i < threads; ++i)
    pst_fibers[i].stack = stacks + (size_t)i * 64 * 1024;
  pst_order(numbers + threads, blocks * count, order, &seed);
  bool fine = true;
  for (unsigned i = 0; i < blocks * count && fine; ++i) {
    const unsigned block = numbers[threads + i];
    blockIdx = {block % blocks, block / blocks, 0};
    fine = pst_block(order, &seed, numbers);
  }
  free(numbers);
  free(stacks);
  free(pst_fibers);
  return fine;
}
