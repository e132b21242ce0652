// SPDX-License-Identifier: Apache-2.0
//
// Counters of a launch's accesses, bytes and sectors of 32 bytes, for shim_memory.h.
#pragma once

#include "shim_launch.h"
#include <stdlib.h>

extern "C" const unsigned char __ehdr_start[] __attribute__((visibility("hidden")));

static pst_shim_counts *pst_counts; // null: nobody asks

/// Numbers that have been met in a block, by open addressing.
struct pst_set {
  uint64_t *keys;
  size_t places, used;
};
static pst_set pst_sectors, pst_distinct;
struct pst_turn {
  uint64_t key;
  unsigned count;
};
static struct {
  pst_turn *turns;
  size_t places, used;
} pst_turns;

static uint64_t pst_hash(uint64_t key) {
  key = (key ^ (key >> 31)) * 0x9E3779B97F4A7C15ull;
  return key ^ (key >> 29);
}
static bool pst_insert(pst_set &set, uint64_t key) {
  key |= 1ull << 63; // none is 0
  if (set.used * 2 >= set.places) {
    pst_set larger = {nullptr, set.places ? set.places * 2 : 4096, set.used};
    larger.keys = (uint64_t *)calloc(larger.places, sizeof(uint64_t));
    for (size_t i = 0; i < set.places; ++i)
      if (set.keys[i]) {
        size_t at = pst_hash(set.keys[i]) & (larger.places - 1);
        while (larger.keys[at])
          at = (at + 1) & (larger.places - 1);
        larger.keys[at] = set.keys[i];
      }
    free(set.keys);
    set = larger;
  }
  size_t at = pst_hash(key) & (set.places - 1);
  for (; set.keys[at]; at = (at + 1) & (set.places - 1))
    if (set.keys[at] == key)
      return false;
  set.keys[at] = key;
  ++set.used;
  return true;
}
/// Returns the number of times that the thread has been at an instruction before.
static unsigned pst_turn_of(uint64_t key) {
  if (pst_turns.used * 2 >= pst_turns.places) {
    const size_t places = pst_turns.places ? pst_turns.places * 2 : 4096;
    pst_turn *turns = (pst_turn *)calloc(places, sizeof(pst_turn));
    for (size_t i = 0; i < pst_turns.places; ++i)
      if (pst_turns.turns[i].key) {
        size_t at = pst_hash(pst_turns.turns[i].key) & (places - 1);
        while (turns[at].key)
          at = (at + 1) & (places - 1);
        turns[at] = pst_turns.turns[i];
      }
    free(pst_turns.turns);
    pst_turns.turns = turns;
    pst_turns.places = places;
  }
  size_t at = pst_hash(key) & (pst_turns.places - 1);
  while (pst_turns.turns[at].key && pst_turns.turns[at].key != key)
    at = (at + 1) & (pst_turns.places - 1);
  pst_turns.used += !pst_turns.turns[at].key;
  pst_turns.turns[at].key = key;
  return pst_turns.turns[at].count++;
}
static void pst_forget_counted() {
  free(pst_sectors.keys);
  free(pst_distinct.keys);
  free(pst_turns.turns);
  pst_sectors = pst_distinct = {};
  pst_turns = {};
}

static void pst_count(uintptr_t at, unsigned bytes, bool writes, bool launched, unsigned thread,
                      uintptr_t pc) {
  (writes ? pst_counts->stores : pst_counts->loads) += 1;
  (writes ? pst_counts->store_bytes : pst_counts->load_bytes) += bytes;
  pst_counts->wide_bytes += bytes == 16 && !launched ? 16 : 0;
  pst_counts->launched_bytes += launched ? bytes : 0;
  // Of this block: those that wait for each other take turns.
  const uint64_t block = (uint64_t)pst_my_block << 46;
  const uint64_t instruction = (uint64_t)(pc - (uintptr_t)__ehdr_start) << 11 | block;
  const uint64_t turn = pst_turn_of(instruction | thread | 1ull << 62);
  for (uintptr_t sector = at / 32; sector <= (at + bytes - 1) / 32; ++sector) {
    const uint64_t of = pst_hash(pst_hash(instruction | thread / 32) + turn) ^ pst_hash(sector);
    if (pst_insert(pst_sectors, of))
      ++(writes ? pst_counts->store_sectors : pst_counts->load_sectors);
    if (pst_insert(pst_distinct, block | (uint64_t)sector << 1 | writes)) {
      ++(writes ? pst_counts->fewest_store_sectors : pst_counts->fewest_load_sectors);
      pst_counts->fewest_launched_sectors += launched && !writes;
    }
  }
}
