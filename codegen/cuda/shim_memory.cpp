// SPDX-License-Identifier: Apache-2.0
//
// Which accesses are faults (shim_memory.h).
#include "shim_memory.h"
#include "shim_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Threads that touched a byte, as far as it matters: one, or several of a warp or block since its
/// last barrier.
struct pst_touch {
  unsigned sample;      // from 1; 0: nobody; all ones: several
  unsigned short block; // of the sample; all ones: several
  unsigned short met;   // how often its blocks had met
  unsigned phase;       // barriers that the block had passed
  unsigned warp_phase;  // barriers that the warp had passed
  unsigned short thread;
  unsigned char several; // 0: `thread` alone, 1: some of its warp, 2: others too
  bool atomic;
};
struct pst_byte {
  pst_touch writer, reader;
};
struct pst_watched {
  pst_shim_region region;
  pst_byte *bytes;
  bool shared; // each block has its own
};

static const unsigned pst_several_samples = ~0u;
static const unsigned short pst_several_blocks = 0xFFFF;
static pst_watched *pst_regions;
static unsigned pst_region_count;
static pst_watched *pst_last_region;
pst_shim_fault pst_fault;
bool pst_faulty;

// Of the thread that runs.
bool pst_watching;
unsigned pst_me, pst_my_sample, pst_my_phase, pst_my_warp_phase;
unsigned short pst_my_block, pst_my_met;
uintptr_t pst_my_stack, pst_my_stack_end;
unsigned *pst_here; // blockIdx of the block at hand: x, y

extern "C" {
extern const unsigned char _end[] __attribute__((visibility("hidden")));
extern unsigned char __start_pst_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_pst_shared[] __attribute__((weak, visibility("hidden")));
}

void pst_report(const char *what, uintptr_t pc) {
  pst_watching = false;
  if (!pst_faulty) {
    snprintf(pst_fault.what, sizeof pst_fault.what, "thread %u of block (%u, %u) %s", pst_me,
             pst_here[0], pst_here[1], what);
    pst_fault.at = pc ? pc - (uintptr_t)__ehdr_start : 0;
  }
  pst_faulty = true;
  pst_leave_block();
}

static bool pst_conflicts(const pst_touch &other) {
  if (!other.sample)
    return false;
  if (other.sample != pst_my_sample)
    return true;
  if (other.met < pst_my_met)
    return false;
  if (other.block != pst_my_block)
    return true;
  if (other.phase != pst_my_phase || (!other.several && other.thread == pst_me))
    return false;
  return other.several == 2 || other.thread / 32 != pst_me / 32 ||
         other.warp_phase == pst_my_warp_phase;
}

static pst_touch pst_touch_of_mine(bool atomic) {
  return {pst_my_sample,     pst_my_block,           pst_my_met, pst_my_phase,
          pst_my_warp_phase, (unsigned short)pst_me, 0,          atomic};
}

/// Merges this thread's access into the earlier ones.
static void pst_join(pst_touch &all, bool atomic) {
  const pst_touch mine = pst_touch_of_mine(atomic);
  all.atomic = all.atomic && atomic;
  const bool isMySample = all.sample == mine.sample, isMyBlock = all.block == mine.block;
  if (!all.sample ||
      (isMySample && (all.met < mine.met || (isMyBlock && all.phase != mine.phase)))) {
    all = mine;
  } else if (!isMySample) {
    all.sample = pst_several_samples;
  } else if (!isMyBlock) {
    all.block = pst_several_blocks;
  } else if (all.several || all.thread != mine.thread) {
    const bool sameWarp = all.several != 2 && all.thread / 32 == mine.thread / 32;
    all.several = sameWarp ? 1 : 2;
    all.warp_phase = mine.warp_phase;
  } else {
    all.warp_phase = mine.warp_phase;
  }
}

static void pst_race(const pst_watched &in, size_t place, const pst_touch &other, const char *mine,
                     const char *theirs, uintptr_t pc) {
  char what[200], who[80];
  if (other.sample != pst_my_sample || other.block != pst_my_block)
    snprintf(who, sizeof who, "which another block %s", theirs);
  else if (other.several)
    snprintf(who, sizeof who, "which others %s since the last barrier", theirs);
  else
    snprintf(who, sizeof who, "which thread %u %s since the last barrier", other.thread, theirs);
  snprintf(what, sizeof what, "%s byte %zu of %s, %s", mine, place, in.region.name, who);
  pst_report(what, pc);
}

static bool pst_holds(const pst_watched &watched, uintptr_t at) {
  const uintptr_t begin = (uintptr_t)watched.region.begin - watched.region.around;
  return at >= begin &&
         at < (uintptr_t)watched.region.begin + watched.region.bytes + watched.region.around;
}
static pst_watched *pst_find(uintptr_t at) {
  if (pst_last_region && pst_holds(*pst_last_region, at))
    return pst_last_region;
  for (unsigned i = 0; i < pst_region_count; ++i)
    if (pst_holds(pst_regions[i], at))
      return pst_last_region = &pst_regions[i];
  return nullptr;
}

//===--- each access -----------------------------------------------------------===//

void pst_access(const void *pointer, size_t bytes, pst_kind kind, uintptr_t pc) {
  const uintptr_t at = (uintptr_t)pointer;
  if (!pst_watching || bytes == 0 || (at >= pst_my_stack && at + bytes <= pst_my_stack_end))
    return;
  const bool writes = kind == PST_WRITE || kind == PST_ATOMIC, atomic = kind >= PST_ATOMIC;
  pst_watched *in = pst_find(at);
  if (!in) {
    // Tables of the text; the words of the shim, such as threadIdx.
    if (!writes && at >= (uintptr_t)__ehdr_start && at + bytes <= (uintptr_t)_end)
      return;
    pst_report(
        writes ? "writes outside of what it was given" : "reads outside of what it was given", pc);
    return;
  }
  const uintptr_t begin = (uintptr_t)in->region.begin, end = begin + in->region.bytes;
  if (pst_counts && in->shared)
    ++pst_counts->shared_accesses;
  else if (pst_counts)
    pst_count(at, (unsigned)bytes, writes, in->region.launched, pst_me, pc);
  char what[200];
  if (writes && (!in->region.writable || at < begin || at + bytes > end)) {
    snprintf(what, sizeof what, "writes %zu bytes at %td of %s, which %s", bytes,
             (ptrdiff_t)(at - begin), in->region.name,
             in->region.writable ? "ends before" : "is only read");
    return pst_report(what, pc);
  }
  for (uintptr_t i = at; i < at + bytes; ++i) {
    if (i < begin || i >= end)
      continue;
    if (!in->region.writable)
      return;
    pst_byte &byte = in->bytes[i - begin];
    if (!in->region.written && kind != PST_WRITE && !byte.writer.sample) {
      snprintf(what, sizeof what, "reads byte %zu of %s, which nobody has written",
               (size_t)(i - begin), in->region.name);
      return pst_report(what, pc);
    }
    const char *mine = !writes ? "reads" : atomic ? "updates" : "writes";
    if (!(atomic && byte.writer.atomic) && pst_conflicts(byte.writer))
      return pst_race(*in, i - begin, byte.writer, mine, byte.writer.atomic ? "updated" : "wrote",
                      pc);
    if (writes && !(atomic && byte.reader.atomic) && pst_conflicts(byte.reader))
      return pst_race(*in, i - begin, byte.reader, mine, "read", pc);
    if (!writes)
      pst_join(byte.reader, atomic);
    else if (atomic && byte.writer.atomic)
      pst_join(byte.writer, true);
    else
      byte.writer = pst_touch_of_mine(atomic);
  }
}

//===--- a launch ---------------------------------------------------------------===//

static void pst_watch_region(const pst_shim_region &region, bool shared) {
  if (region.bytes + region.around == 0)
    return;
  pst_byte *bytes =
      region.writable ? (pst_byte *)calloc(region.bytes + 1, sizeof(pst_byte)) : nullptr;
  pst_regions[pst_region_count++] = {region, bytes, shared};
}
void pst_watch(const pst_shim_launch &launch, void *dynamic) {
  pst_regions = (pst_watched *)calloc(launch.region_count + 2, sizeof(pst_watched));
  pst_region_count = 0;
  pst_last_region = nullptr;
  pst_faulty = false;
  pst_counts = launch.counts;
  for (size_t i = 0; i < launch.region_count; ++i)
    pst_watch_region(launch.regions[i], false);
  pst_watch_region({"shared memory", dynamic, launch.shared_bytes, 0, true, false, false}, true);
  pst_watch_region({"shared arrays", __start_pst_shared,
                    (size_t)(__stop_pst_shared - __start_pst_shared), 0, true, false, false},
                   true);
}
void pst_watch_block(bool alone) {
  if (pst_counts && alone)
    pst_forget_counted();
  for (unsigned i = 0; i < pst_region_count; ++i)
    if (pst_regions[i].shared) {
      memset(pst_regions[i].bytes, 0, pst_regions[i].region.bytes * sizeof(pst_byte));
      memset((void *)pst_regions[i].region.begin, 0xA5, pst_regions[i].region.bytes);
    }
}
size_t pst_own_bytes() {
  size_t bytes = 0;
  for (unsigned i = 0; i < pst_region_count; ++i)
    if (pst_regions[i].shared)
      bytes += pst_regions[i].region.bytes * (1 + sizeof(pst_byte));
  return bytes;
}
void pst_keep_own(unsigned char *kept, bool back) {
  for (unsigned i = 0; i < pst_region_count; ++i) {
    if (!pst_regions[i].shared)
      continue;
    const size_t bytes = pst_regions[i].region.bytes;
    unsigned char *const parts[] = {(unsigned char *)pst_regions[i].region.begin,
                                    (unsigned char *)pst_regions[i].bytes};
    for (unsigned part = 0; part < 2; ++part) {
      const size_t size = bytes * (part ? sizeof(pst_byte) : 1);
      memcpy(back ? parts[part] : kept, back ? kept : parts[part], size);
      kept += size;
    }
  }
}
void pst_watch_no_more() {
  for (unsigned i = 0; i < pst_region_count; ++i)
    free(pst_regions[i].bytes);
  free(pst_regions);
  pst_forget_counted();
}
