// SPDX-License-Identifier: Apache-2.0
//
// CUDA's words on a CPU, to run printed kernels without a GPU.
//
// Stands in front of penstock.cuh. A block's threads are fibers of one thread:
// a barrier is a switch (shim_threads.cpp). Each access is seen by shim_memory.h. What is not
// compiled with the text is penstock_cuda_shim, a library: most of the shim is the same for all.
#pragma once

#include "shim_memory.h"
#include <math.h>
#include <string.h>

#ifdef __clang__ // the shim itself is not watched
#pragma clang attribute push(__attribute__((disable_sanitizer_instrumentation)),                   \
                             apply_to = function)
#endif

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("pst_shared")))

struct pst_dim3 {
  unsigned x, y, z;
};
PST_SHIM extern pst_dim3 threadIdx, blockIdx, blockDim, gridDim;

//===--- waiting -----------------------------------------------------------------===//

enum pst_wait { PST_READY, PST_AT_BLOCK, PST_AT_WARP, PST_AT_EXCHANGE, PST_AT_OTHERS, PST_DONE };
/// Lets other threads run until what this one waits for has come.
PST_SHIM void pst_pause(pst_wait wait);

static inline void __syncthreads() { pst_pause(PST_AT_BLOCK); }
static inline void __syncwarp(unsigned = ~0u) { pst_pause(PST_AT_WARP); }
/// Lets other threads of the sample run.
static inline void __nanosleep(unsigned) { pst_pause(PST_AT_OTHERS); }
/// There are two in pst_barrier(): before a block says that it has come, and when it believes that
/// all have.
PST_SHIM void __threadfence();

/// Dynamic shared memory of the block at hand.
PST_SHIM extern unsigned char *pst_shared_memory;

//===--- exchanges within a warp ---------------------------------------------------===//

/// Returns the value that lane `from` of this warp sends; the thread's own if there is no such
/// lane.
PST_SHIM unsigned long long pst_exchange_bits(unsigned long long value, unsigned from, bool exists);
template <typename T> static T pst_exchange(T value, unsigned from, bool exists) {
  static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes");
  unsigned long long bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = pst_exchange_bits(bits, from, exists);
  memcpy(&value, &bits, sizeof value);
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

#ifdef PST_WATCHED
#define PST_SEES(place, kind)                                                                      \
  pst_access(place, sizeof *(place), kind, (uintptr_t)__builtin_return_address(0))
#else
#define PST_SEES(place, kind) (void)0
#endif
template <typename T> static __attribute__((noinline)) T atomicAdd(T *place, T value) {
  PST_SEES(place, PST_ATOMIC);
  const T before = *place;
  *place += value;
  return before;
}
template <typename T> static __attribute__((noinline)) T atomicMin(T *place, T value) {
  PST_SEES(place, PST_ATOMIC);
  const T before = *place;
  *place = value < before ? value : before;
  return before;
}
template <typename T> static __attribute__((noinline)) T atomicMax(T *place, T value) {
  PST_SEES(place, PST_ATOMIC);
  const T before = *place;
  *place = value > before ? value : before;
  return before;
}
template <typename T> static __attribute__((noinline)) T atomicCAS(T *place, T expected, T value) {
  PST_SEES(place, PST_ATOMIC);
  const T before = *place;
  *place = before == expected ? value : before;
  return before;
}

template <typename T> static __attribute__((noinline)) T atomicExch(T *place, T value) {
  PST_SEES(place, PST_ATOMIC);
  const T before = *place;
  *place = value;
  return before;
}
/// A load that sees other threads' later stores, as an atomic one would.
template <typename T> static __attribute__((noinline)) T __ldcv(const T *place) {
  PST_SEES(place, PST_ATOMIC_READ);
  return *place;
}

//===--- instructions on bytes ------------------------------------------------------===//

/// Adds four products of bytes to `sum`.
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
/// Adds two products of halves of `a` with bytes of `b`, the lower or the upper two, to `sum`.
static inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum) {
  return sum + (a & 0xFFFF) * (b & 255) + (a >> 16) * (b >> 8 & 255);
}
static inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned sum) {
  return __dp2a_lo(a, b >> 16, sum);
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

#ifdef __clang__
#pragma clang attribute pop
#endif
