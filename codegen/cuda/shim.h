// SPDX-License-Identifier: Apache-2.0
//
// CUDA's words on a CPU, to run printed kernels without a GPU.
//
// Stands in front of penstock.cuh. A block's threads are fibers of one thread:
// a barrier is a switch. Blocks, and threads between two barriers, run in
// ascending, descending or random order, so that what depends on an order shows;
// what no order shows, shim_memory.h sees. A block that waits for the others of its sample stands
// aside, with its threads and shared memory, until these have run.
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
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("pst_shared")))

struct pst_dim3 {
  unsigned x, y, z;
};
static pst_dim3 threadIdx, blockIdx, blockDim, gridDim;

//===--- waiting -----------------------------------------------------------------===//

enum pst_wait { PST_READY, PST_AT_BLOCK, PST_AT_WARP, PST_AT_EXCHANGE, PST_AT_OTHERS, PST_DONE };
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
/// A block, and its threads.
struct pst_team {
  pst_fiber *fibers;
  unsigned char *stacks; // of all of them
  unsigned count;
  unsigned block, sample; // blockIdx
  unsigned phase;         // counts its barriers
  unsigned fences;        // an odd number: it waits at the sample's barrier
  bool ended;
  unsigned char *own; // its shared memory, while others run
};
static pst_team *pst_teams; // the blocks of a sample that are at hand
static unsigned pst_team_count, pst_teams_at_hand;
static pst_team *pst_running;
static pst_fiber *pst_fibers; // of those that run
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
/// Lets other threads of the sample run.
static inline void __nanosleep(unsigned) { pst_pause(PST_AT_OTHERS); }
/// There are two in pst_barrier(): before a block says that it has come, and when it believes that
/// all have.
static __attribute__((noinline)) void __threadfence() {
  if (++pst_running->fences % 2)
    return;
  for (unsigned i = 0; i < gridDim.x; ++i)
    if (i >= pst_teams_at_hand || (pst_teams[i].fences + 1) / 2 < pst_running->fences / 2)
      return pst_report("goes on before all blocks of its sample have come", 0);
  pst_my_met = (unsigned short)(pst_running->fences / 2);
}

//===--- exchanges within a warp ---------------------------------------------------===//

/// Returns the value that lane `from` of this warp sends; the thread's own if there is no such
/// lane.
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
/// A load that sees other threads' later stores, as an atomic one would.
template <typename T> static __attribute__((noinline)) T __ldcv(const T *place) {
  pst_access(place, sizeof *place, PST_ATOMIC_READ, (uintptr_t)__builtin_return_address(0));
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

//===--- launches -----------------------------------------------------------------===//

static const pst_shim_launch *pst_launched;
/// Dynamic shared memory of the block at hand.
static unsigned char *pst_shared_memory;

static __attribute__((noinline)) void pst_resume(unsigned thread, unsigned phase) {
  pst_fiber &fiber = pst_fibers[thread];
  threadIdx.x = thread;
  pst_me = thread;
  pst_my_sample = blockIdx.y + 1;
  pst_my_block = (unsigned short)blockIdx.x;
  pst_my_met = (unsigned short)(pst_running->fences / 2);
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

/// Threads for another block of the sample at hand. They are kept for the next launch; those that
/// a fault left within a kernel begin anew.
static pst_team &pst_take_team(unsigned block, unsigned sample) {
  if (pst_teams_at_hand == pst_team_count) {
    pst_teams = (pst_team *)realloc(pst_teams, (pst_team_count + 1) * sizeof(pst_team));
    memset(&pst_teams[pst_team_count++], 0, sizeof(pst_team));
  }
  pst_team &team = pst_teams[pst_teams_at_hand++];
  if (blockDim.x > team.count) {
    free(team.fibers);
    free(team.stacks);
    team.fibers = (pst_fiber *)calloc(blockDim.x, sizeof(pst_fiber));
    team.stacks = (unsigned char *)malloc((size_t)blockDim.x * pst_stack_bytes);
    team.count = blockDim.x;
  }
  team.block = block;
  team.sample = sample;
  team.phase = team.fences = 0;
  team.ended = false;
  for (unsigned i = 0; i < blockDim.x; ++i) {
    pst_fiber &fiber = team.fibers[i];
    fiber.stack = team.stacks + (size_t)i * pst_stack_bytes;
    fiber.runs &= fiber.wait == PST_DONE;
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
  return team;
}
static void pst_release_teams() {
  for (unsigned i = 0; i < pst_teams_at_hand; ++i) {
    free(pst_teams[i].own);
    pst_teams[i].own = nullptr;
  }
  pst_teams_at_hand = 0;
}
static __attribute__((destructor)) void pst_free_teams() {
  for (unsigned i = 0; i < pst_team_count; ++i) {
    free(pst_teams[i].fibers);
    free(pst_teams[i].stacks);
  }
  free(pst_teams);
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

/// Runs a block until it ends or waits for others of its sample. False where threads wait for what
/// never comes.
static bool pst_run_team(pst_team &team, int order, unsigned long long *seed, unsigned *numbers) {
  pst_running = &team;
  pst_fibers = team.fibers;
  blockIdx = {team.block, team.sample, 0};
  if (team.own)
    pst_keep_own(team.own, true);
  else
    pst_watch_block();
  for (unsigned i = 0; i < blockDim.x; ++i)
    if (pst_fibers[i].wait == PST_AT_OTHERS)
      pst_fibers[i].wait = PST_READY;
  for (;;) {
    bool ran = false, open = false, waits = false;
    pst_order(numbers, blockDim.x, order, seed);
    for (unsigned i = 0; i < blockDim.x && !pst_faulty; ++i)
      if (pst_fibers[numbers[i]].wait == PST_READY) {
        ran = true;
        pst_resume(numbers[i], team.phase);
      }
    if (pst_faulty)
      return true;
    for (unsigned first = 0; first < blockDim.x; first += 32)
      ran |= pst_release(first, first + 32, PST_AT_EXCHANGE) ||
             pst_release(first, first + 32, PST_AT_WARP);
    if (pst_release(0, blockDim.x, PST_AT_BLOCK)) {
      ran = true;
      ++team.phase;
    }
    for (unsigned i = 0; i < blockDim.x; ++i) {
      open |= pst_fibers[i].wait != PST_DONE;
      waits |= pst_fibers[i].wait == PST_AT_OTHERS;
    }
    team.ended = !open;
    if (!open)
      return true;
    if (!ran && waits) {
      if (!team.own)
        team.own = (unsigned char *)malloc(pst_own_bytes() + 1);
      pst_keep_own(team.own, false);
      return true;
    }
    if (!ran)
      return false;
  }
}

/// Runs `blocks` of a sample, by turns where they wait for each other.
static void pst_run_sample(unsigned sample, const unsigned *blocks, unsigned count, int order,
                           unsigned long long *seed, unsigned *numbers) {
  const char *stuck = nullptr;
  auto run = [&](pst_team &team) {
    if (!pst_run_team(team, order, seed, numbers))
      stuck = "threads of block (%u, %u) wait at different barriers";
  };
  for (unsigned i = 0; i < count && !stuck && !pst_faulty; ++i) {
    pst_team &team = pst_take_team(blocks[i], sample);
    run(team);
    if (team.ended && team.fences == 0)
      --pst_teams_at_hand; // nobody asks for it
  }
  for (bool open = true; open && !stuck && !pst_faulty;) {
    open = false;
    bool moved = false;
    for (unsigned i = 0; i < pst_teams_at_hand && !stuck && !pst_faulty; ++i) {
      pst_team &team = pst_teams[i];
      if (team.ended)
        continue;
      const unsigned fences = team.fences, phase = team.phase;
      run(team);
      moved |= team.ended || team.fences != fences || team.phase != phase;
      open |= !team.ended;
    }
    if (open && !moved && !stuck)
      stuck = "block (%u, %u) waits for others of its sample that never come";
  }
  pst_release_teams();
  if (!stuck || pst_faulty)
    return;
  snprintf(pst_fault.what, sizeof pst_fault.what, stuck, blockIdx.x, blockIdx.y);
  pst_fault.at = 0;
  pst_faulty = true;
}

/// Launches a kernel of this file; see shim_launch.h.
extern "C" __attribute__((visibility("default"))) const pst_shim_fault *
pst_shim_run(const pst_shim_launch *launch) {
  pst_launched = launch;
  gridDim = {launch->blocks, launch->count, 1};
  blockDim = {launch->threads, 1, 1};
  pst_here = &blockIdx.x;
  const unsigned threads = launch->threads, blocks = launch->blocks, samples = launch->count;
  unsigned *numbers = (unsigned *)malloc((threads + blocks + samples) * sizeof(unsigned));
  unsigned *blockNumbers = numbers + threads, *sampleNumbers = blockNumbers + blocks;
  // A line more at either end, in no region.
  unsigned char *shared =
      (unsigned char *)aligned_alloc(64, (launch->shared_bytes + 255) / 64 * 64);
  pst_shared_memory = shared + 64;
  unsigned long long seed = launch->seed;
  pst_order(sampleNumbers, samples, launch->order, &seed);
  pst_watch(*launch, pst_shared_memory);
  for (unsigned i = 0; i < samples && !pst_faulty; ++i) {
    pst_order(blockNumbers, blocks, launch->order, &seed);
    pst_run_sample(sampleNumbers[i], blockNumbers, blocks, launch->order, &seed, numbers);
  }
  pst_watch_no_more();
  free(shared);
  free(numbers);
  return pst_faulty ? &pst_fault : nullptr;
}

#ifdef __clang__
#pragma clang attribute pop
#endif
