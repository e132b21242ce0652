// SPDX-License-Identifier: Apache-2.0
//
// Threads and launches of shim.h.
//
// A block's threads are fibers of one thread. Blocks, and threads between two barriers, run in
// ascending, descending or random order, so that what depends on an order shows;
// what no order shows, shim_memory.cpp sees. A block that waits for the others of its sample stands
// aside, with its threads and shared memory, until these have run.
#include "shim.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

pst_dim3 threadIdx, blockIdx, blockDim, gridDim;
unsigned char *pst_shared_memory;

//===--- waiting -----------------------------------------------------------------===//

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
void pst_pause(pst_wait wait) {
  pst_watching = false;
  pst_fiber &fiber = pst_fibers[threadIdx.x];
  fiber.wait = wait;
  if (_setjmp(fiber.place) == 0)
    _longjmp(pst_scheduler, 1);
}
void pst_leave_block() {
  pst_fibers[threadIdx.x].wait = PST_DONE;
  pst_fibers[threadIdx.x].runs = false;
  _longjmp(pst_scheduler, 1);
}
void __threadfence() {
  if (++pst_running->fences % 2)
    return;
  for (unsigned i = 0; i < gridDim.x; ++i)
    if (i >= pst_teams_at_hand || (pst_teams[i].fences + 1) / 2 < pst_running->fences / 2)
      return pst_report("goes on before all blocks of its sample have come", 0);
  pst_my_met = (unsigned short)(pst_running->fences / 2);
}

//===--- exchanges within a warp ---------------------------------------------------===//

unsigned long long pst_exchange_bits(unsigned long long value, unsigned from, bool exists) {
  const unsigned me = threadIdx.x, parity = pst_fibers[me].turn++ % 2;
  pst_fibers[me].sent[parity] = value;
  pst_pause(PST_AT_EXCHANGE);
  const unsigned place = me / 32 * 32 + from;
  return exists && from < 32 && place < blockDim.x ? pst_fibers[place].sent[parity] : value;
}

//===--- launches -----------------------------------------------------------------===//

static const pst_shim_launch *pst_launched;

static void pst_resume(unsigned thread, unsigned phase) {
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
    pst_watch_block(pst_teams_at_hand == 1);
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
  unsigned open = 0; // blocks that wait
  auto turn = [&](const char *otherwise) {
    bool moved = false;
    for (unsigned i = 0; i < pst_teams_at_hand && !stuck && !pst_faulty; ++i) {
      pst_team &team = pst_teams[i];
      if (team.ended)
        continue;
      const unsigned fences = team.fences, phase = team.phase;
      run(team);
      moved |= team.ended || team.fences != fences || team.phase != phase;
      open -= team.ended;
    }
    if (open && !moved && !stuck)
      stuck = otherwise;
  };
  const unsigned most = pst_launched->together ? pst_launched->together : count;
  for (unsigned i = 0; i < count && !stuck && !pst_faulty; ++i) {
    while (open >= most && !stuck && !pst_faulty)
      turn("block (%u, %u) waits for others of its sample, for which there is no room");
    if (stuck || pst_faulty)
      break;
    pst_team &team = pst_take_team(blocks[i], sample);
    run(team);
    open += !team.ended;
    if (team.ended && team.fences == 0)
      --pst_teams_at_hand; // nobody asks for it
  }
  while (open && !stuck && !pst_faulty)
    turn("block (%u, %u) waits for others of its sample that never come");
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
