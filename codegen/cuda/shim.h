// SPDX-License-Identifier: Apache-2.0
//
// CUDA's words on a CPU, to run printed kernels without a GPU.
//
// Stands in front of penstock.cuh. A block's threads are fibers of one thread:
// a barrier is a switch. Blocks, and threads between two barriers, run in
// ascending, descending or random order, so that what depends on an order shows;
// what no order shows, shim_memory.h sees.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <ucontext.h>

#ifdef __clang__ // the shim itself is not watched
#pragma clang attribute push(__attribute__((disable_sanitizer_instrumentation)),                   \
                             apply_to = function)
#endif
#include "shim_memory.h"

#define __global__
#define __device__
#define __launch_bounds__(threads)
#define __shared__ static __attribute__((section("pst_shared")))

struct pst_dim3 {
  unsigned x, y, z;
};
static pst_dim3 threadIdx, blockIdx, blockDim, gridDim;

//===--- waiting -----------------------------------------------------------------===//

enum pst_wait { PST_READY, PST_AT_BLOCK, PST_AT_WARP, PST_AT_EXCHANGE, PST_DONE };
struct pst_fiber {
  ucontext_t begin; // where it has not run yet
  jmp_buf place;    // where it waits
  bool runs;
  unsigned char *stack;
  pst_wait wait;
  unsigned turn;              // counts the warp's exchanges
  unsigned long long sent[2]; // by parity: a lane is never two exchanges ahead
  unsigned warp_phase;        // counts the warp's barriers
};
static const unsigned pst_stack_bytes = 512 * 1024;
static pst_fiber *pst_fibers;
static unsigned char *pst_stacks; // of all of them
static unsigned pst_fiber_count;
static jmp_buf pst_scheduler;

// swapcontext() asks the system for the mask of signals at each turn; these do not.
static __attribute__((noinline)) void pst_pause(pst_wait wait) {
  pst_watching = false;
  pst_fiber &fiber = pst_fibers[threadIdx.x];
  fiber.wait = wait;
  if (_setjmp(fiber.place) == 0)
    _longjmp(pst_scheduler, 1);
}
static void pst_leave_block() {
  pst_fibers[threadIdx.x].wait = PST_DONE;
  pst_fibers[threadIdx.x].runs = false;
  _longjmp(pst_scheduler, 1);
}
static inline void __syncthreads() { pst_pause(PST_AT_BLOCK); }
static inline void __syncwarp(unsigned = ~0u) { pst_pause(PST_AT_WARP); }

//===--- exchanges within a warp ---------------------------------------------------===//

/// What `lane` of this warp sends; one's own where there is no such lane.
template <typename T> static T pst_exchange(T value, unsigned from, bool exists) {
  static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes");
  const unsigned me = threadIdx.x, parity = pst_fibers[me].turn++ % 2;
  memcpy(&pst_fibers[me].sent[parity], &value, sizeof value);
  pst_pause(PST_AT_EXCHANGE);
  const unsigned place = me / 32 * 32 + from;
  if (exists && from < 32 && place < blockDim.x)
    memcpy(&value, &pst_fibers[place].sent[parity], sizeof value);
  return value;
}
template <typename T> static T __shfl_sync(unsigned, T value, int lane) {
  return pst_exchange(value, (unsigned)lane % 32, true);
}
template <typename T> static T __shfl_up_sync(unsigned, T value, unsigned distance) {
  return pst_exchange(value, threadIdx.x % 32 - distance, threadIdx.x % 32 >= distance);
}
template <typename T> static T __shfl_down_sync(unsigned, T value, unsigned distance) {
  return pst_exchange(value, threadIdx.x % 32 + distance, threadIdx.x % 32 + distance < 32);
}
template <typename T> static T __shfl_xor_sync(unsigned, T value, int mask) {
  return pst_exchange(value, (threadIdx.x % 32) ^ (unsigned)mask, true);
}

//===--- atomic operations: fibers switch at waits only ----------------------------===//

#define PST_UPDATES(place)                                                                         \
  pst_access(place, sizeof *(place), PST_ATOMIC, (uintptr_t)__builtin_return_address(0))
template <typename T> static __attribute__((noinline)) T atomicAdd(T *place, T value) {
  PST_UPDATES(place);
  const T before = *place;
  *place += value;
  return before;
}
template <typename T> static __attribute__((noinline)) T atomicMin(T *place, T value) {
  PST_UPDATES(place);
  const T before = *place;
  *place = value < before ? value : before;
  return before;
}
template <typename T> static __attribute__((noinline)) T atomicMax(T *place, T value) {
  PST_UPDATES(place);
  const T before = *place;
  *place = value > before ? value : before;
  return before;
}
template <typename T> static __attribute__((noinline)) T atomicCAS(T *place, T expected, T value) {
  PST_UPDATES(place);
  const T before = *place;
  *place = before == expected ? value : before;
  return before;
}

template <typename T> static __attribute__((noinline)) T atomicExch(T *place, T value) {
  PST_UPDATES(place);
  const T before = *place;
  *place = value;
  return before;
}
/// A load that sees what others have stored since, as an atomic one would.
template <typename T> static __attribute__((noinline)) T __ldcv(const T *place) {
  pst_access(place, sizeof *place, PST_ATOMIC_READ, (uintptr_t)__builtin_return_address(0));
  return *place;
}

//===--- instructions on bytes ------------------------------------------------------===//

/// Four products of bytes, added to `sum`.
static inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 32; i += 8)
    sum += (int)(signed char)(a >> i) * (signed char)(b >> i);
  return sum;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (int i = 0; i < 32; i += 8)
    sum += (a >> i & 255) * (b >> i & 255);
  return sum;
}
/// Bytes of `y:x`, chosen by the nibbles of `selector`; its upper bits say to repeat a sign.
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = (unsigned long long)y << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned choice = selector >> 4 * i & 15,
                   byte = (unsigned)(both >> 8 * (choice & 7)) & 255;
    result |= (choice & 8 ? (byte >> 7) * 255 : byte) << 8 * i;
  }
  return result;
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)((((unsigned long long)high << 32 | low) << (shift & 31)) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}

//===--- launches -----------------------------------------------------------------===//

static const pst_shim_launch *pst_launched;
/// Dynamic shared memory of the block at hand.
static unsigned char *pst_shared_memory;

static __attribute__((noinline)) void pst_resume(unsigned thread, unsigned phase) {
  pst_fiber &fiber = pst_fibers[thread];
  threadIdx.x = thread;
  pst_me = thread;
  pst_my_block = blockIdx.y * gridDim.x + blockIdx.x + 1;
  pst_my_phase = phase;
  pst_my_warp_phase = fiber.warp_phase;
  pst_my_stack = (uintptr_t)fiber.stack;
  pst_my_stack_end = pst_my_stack + pst_stack_bytes;
  pst_watching = true;
  if (_setjmp(pst_scheduler) == 0) {
    if (fiber.runs)
      _longjmp(fiber.place, 1);
    fiber.runs = true;
    setcontext(&fiber.begin);
  }
  pst_watching = false;
}

/// One block after the other.
static void pst_enter() {
  for (;;) {
    pst_launched->kernel(pst_launched->samples, pst_launched->status);
    pst_pause(PST_DONE);
  }
}

/// What is kept for the next launch. Fibers that a fault left within a kernel begin anew.
static void pst_take_fibers(unsigned count) {
  if (count > pst_fiber_count) {
    free(pst_fibers);
    free(pst_stacks);
    pst_fibers = (pst_fiber *)calloc(count, sizeof(pst_fiber));
    pst_stacks = (unsigned char *)malloc((size_t)count * pst_stack_bytes);
    pst_fiber_count = count;
  }
  for (unsigned i = 0; i < pst_fiber_count; ++i) {
    pst_fibers[i].stack = pst_stacks + (size_t)i * pst_stack_bytes;
    pst_fibers[i].runs &= pst_fibers[i].wait == PST_DONE;
  }
}
static __attribute__((destructor)) void pst_free_fibers() {
  free(pst_fibers);
  free(pst_stacks);
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

/// Returns whether the fibers `first` ..< `end` all wait as `wait` says or are done;
/// those that wait are then ready.
static bool pst_release(unsigned first, unsigned end, pst_wait wait) {
  bool any = false;
  end = end < blockDim.x ? end : blockDim.x;
  for (unsigned i = first; i < end; ++i) {
    if (pst_fibers[i].wait != wait && pst_fibers[i].wait != PST_DONE)
      return false;
    any |= pst_fibers[i].wait == wait;
  }
  for (unsigned i = first; i < end && any; ++i)
    if (pst_fibers[i].wait == wait) {
      pst_fibers[i].wait = PST_READY;
      pst_fibers[i].warp_phase += wait == PST_AT_WARP;
    }
  return any;
}

/// Runs a block. False where threads wait for what never comes.
static bool pst_block(int order, unsigned long long *seed, unsigned *numbers) {
  unsigned phase = 0;
  for (unsigned i = 0; i < blockDim.x; ++i) {
    pst_fiber &fiber = pst_fibers[i];
    fiber.wait = PST_READY;
    fiber.turn = fiber.warp_phase = 0;
    if (fiber.runs)
      continue;
    getcontext(&fiber.begin);
    fiber.begin.uc_stack.ss_sp = fiber.stack;
    fiber.begin.uc_stack.ss_size = pst_stack_bytes;
    fiber.begin.uc_link = nullptr;
    makecontext(&fiber.begin, pst_enter, 0);
  }
  for (;;) {
    bool ran = false, open = false;
    pst_order(numbers, blockDim.x, order, seed);
    for (unsigned i = 0; i < blockDim.x && !pst_faulty; ++i)
      if (pst_fibers[numbers[i]].wait == PST_READY) {
        ran = true;
        pst_resume(numbers[i], phase);
      }
    if (pst_faulty)
      return true;
    for (unsigned first = 0; first < blockDim.x; first += 32)
      ran |= pst_release(first, first + 32, PST_AT_EXCHANGE) ||
             pst_release(first, first + 32, PST_AT_WARP);
    if (pst_release(0, blockDim.x, PST_AT_BLOCK)) {
      ran = true;
      ++phase;
    }
    for (unsigned i = 0; i < blockDim.x; ++i)
      open |= pst_fibers[i].wait != PST_DONE;
    if (!open)
      return true;
    if (!ran)
      return false;
  }
}

/// Launches a kernel of this file; see shim_launch.h.
extern "C" __attribute__((visibility("default"))) const pst_shim_fault *
pst_shim_run(const pst_shim_launch *launch) {
  pst_launched = launch;
  gridDim = {launch->blocks, launch->count, 1};
  blockDim = {launch->threads, 1, 1};
  pst_here = &blockIdx.x;
  const unsigned threads = launch->threads, blocks = launch->blocks * launch->count;
  pst_take_fibers(threads);
  unsigned *numbers = (unsigned *)malloc((threads + blocks) * sizeof(unsigned));
  // A line more at either end, in no region.
  unsigned char *shared =
      (unsigned char *)aligned_alloc(64, (launch->shared_bytes + 255) / 64 * 64);
  pst_shared_memory = shared + 64;
  unsigned long long seed = launch->seed;
  pst_order(numbers + threads, blocks, launch->order, &seed);
  pst_watch(*launch, pst_shared_memory);
  for (unsigned i = 0; i < blocks && !pst_faulty; ++i) {
    const unsigned block = numbers[threads + i];
    blockIdx = {block % launch->blocks, block / launch->blocks, 0};
    pst_watch_block();
    if (!pst_block(launch->order, &seed, numbers)) {
      snprintf(pst_fault.what, sizeof pst_fault.what,
               "threads of block (%u, %u) wait at different barriers", blockIdx.x, blockIdx.y);
      pst_fault.at = 0;
      pst_faulty = true;
    }
  }
  pst_watch_no_more();
  free(shared);
  free(numbers);
  return pst_faulty ? &pst_fault : nullptr;
}

#ifdef __clang__
#pragma clang attribute pop
#endif
